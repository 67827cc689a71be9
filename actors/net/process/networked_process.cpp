#include "actors/net/process/networked_process.hpp"

#include "actors/base/guard.hpp"
#include "actors/director/checkpoint_writer.hpp"
#include "actors/director/director.hpp"
#include "actors/net/carriers/carriers.hpp"
#include "actors/net/carriers/node_loop.hpp"
#include "actors/net/gate/gate.hpp"
#include "actors/net/links/links.hpp"
#include "actors/net/process/process_gate.hpp"
#include "actors/node/node.hpp"
#include "actors/protocol/boundary_messages.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/run/configure.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/process.hpp"
#include "actors/run/resuming.hpp"
#include "actors/run/training_end.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/node_id.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <utility>

namespace troupe {

namespace {

// The identity of a process for CAF. CAF's own is made of the machine's network cards and the process number. Two
// containers on one network, each with process 1, would be one node to CAF, and never linked.

/// Modules begin in order of their numbers: this one after the middleman, which sets the identity, and before the first
/// spawn.
class node_identity : public caf::actor_system::module {
public:
  explicit node_identity(caf::actor_system& system) : system_(system) {}

  // The system has a member and no setter.
  void init(caf::actor_system_config&) override {
    caf::node_id::default_data::host_id_type host;
    std::random_device source;
    std::ranges::generate(host, [&] { return static_cast<uint8_t>(source()); });
    const_cast<caf::node_id&>(system_.node()) = caf::make_node_id(source(), host);
  }
  void start() override {}
  void stop() override {}
  id_t id() const override { return opencl_manager; }
  void* subtype_ptr() override { return this; }

private:
  caf::actor_system& system_;
};

/// Systems made from `config`, which has the middleman already, are nodes with random numbers.
void draw_node_identity(caf::actor_system_config& config) {
  config.module_factories.push_back([](caf::actor_system& system) -> caf::actor_system::module* {
    return new node_identity{system};
  });
}

// A node that the node loop serves in turns with the sockets of its carriers (node_loop.hpp).

class looped_node
  : public caf::stateful_actor<node_state, rounds_by_default<local_node_actor::base>> {
public:
  using super = caf::stateful_actor<node_state, rounds_by_default<local_node_actor::base>>;

  looped_node(caf::actor_config& config, std::shared_ptr<node_loop> loop, node_options options,
              local_company local)
    : super(config),
      loop_(std::move(loop)),
      options_(std::move(options)),
      local_(std::move(local)) {
    loop_->add_actor();
  }

  using super::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    super::enqueue(std::move(what), loop_->queue());
  }
  void launch(caf::execution_unit*, bool lazy, bool hide) override {
    super::launch(loop_->queue(), lazy, hide);
  }

protected:
  local_node_actor::behavior_type make_behavior() override {
    return troupe::node(this, std::exchange(options_, {}), std::exchange(local_, {}));
  }

private:
  std::shared_ptr<node_loop> loop_;
  node_options options_;
  local_company local_;
};

/// As `system.spawn<caf::detached>(node, ...)`, on this loop.
local_node_actor spawn_looped(caf::actor_system& system, const std::shared_ptr<node_loop>& loop,
                              const node_options& options, const local_company& local) {
  return system.spawn<looped_node>(loop, options, local);
}

/// How often a waiting process calls `stop_requested`.
constexpr milliseconds stop_poll_interval{100};

/// How long the director's process waits until the others have its farewell.
constexpr milliseconds farewell_deadline{2'000};

/// How long the parts of a process may take to end. They compute nothing, so this is never reached.
constexpr milliseconds end_deadline{10'000};

/// Messages an actor handles before another one gets its turn. A busy actor that sends to itself
/// would otherwise keep a thread for good; far fewer cost a switch for each message.
constexpr size_t messages_per_turn = 8;

/// Twice the longest pause between two attempts to dial, and time for one: a live process is back by then.
constexpr milliseconds lost_patience_min{5'000};

milliseconds lost_patience(const cluster_timeouts& timeouts) {
  return std::max(2 * timeouts.lost_after, lost_patience_min);
}

director_options options_of_director(const networked_options& x, const model& network,
                                     uint64_t term) {
  auto result = director_options_of(x.resolved, *x.data, network);
  for (const auto& node : x.cluster.nodes)
    result.membership.expected.push_back({node.name, node.replica_count, node.shard_count});
  result.membership.lets_join = x.cluster.join.has_value();
  result.membership.home = x.own_name;
  // Who joins makes up further groups.
  if (auto& split = result.membership.split; split.splits() && !x.resolved.parallel.data)
    split.shape.data =
      std::max(split.shape.data, x.cluster.replica_count_max() / split.shape.group_size());
  // Each replica gets a slice: the parameter server decides which one gets work.
  if (has_server(x.resolved.training)) {
    result.membership.decider = x.own_name;
    result.membership.slice_count = std::max<size_t>(1, x.cluster.replica_count_max());
    result.membership.holders = by_replica(result.membership.holders, [&](const std::string& name) {
      const auto place = x.cluster.find(name);
      return place ? x.cluster.nodes[*place].replica_count : 0;
    });
  }
  if (auto& copies = result.membership.copies; copies.deputies > 0) {
    copies.deputies = x.cluster.recovery.copies;
    copies.every = x.cluster.recovery.copy_every.value_or(0);
  }
  result.membership.links_first = true;
  result.membership.min_nodes = x.cluster.min_nodes;
  result.membership.settle = x.cluster.timeouts.settle;
  result.membership.persisted_term = term;
  result.membership.lost_after = x.cluster.timeouts.lost_after;
  result.membership.join_timeout = x.cluster.timeouts.join;
  result.rule.checkpoint_every = x.checkpoints ? checkpoint_every_of(x.resolved) : 0;
  if (!has_server(x.resolved.training)) // a parameter server counts lost work itself
    result.lost_work = {x.resolved.runtime.attempts, lost_patience(x.cluster.timeouts)};
  result.resume_from = x.resume_from;
  result.exchange.window_bytes = link_credit_of(x.cluster.node_count_max());
  return result;
}

/// Null where parameters stay in memory: there is no folder, or no other process.
std::shared_ptr<scratch_pool> scratch_of(const networked_options& x, size_t parameter_count) {
  if (x.cluster.node_count_max() <= 1 || (x.scratch_folder.empty() && !x.checkpoints))
    return nullptr;
  const bool goes_back = copies_spans(x.resolved) && x.cluster.recovery.copies > 0;
  const size_t reserved = !*x.resolved.training.keep_best ? 1
                          : goes_back                     ? 1 + past_rows::bests_max
                                                          : 2; // the next one comes meanwhile
  return x.scratch_folder.empty()
           ? std::make_shared<scratch_pool>(x.checkpoints->where(), x.checkpoints->directory(),
                                            parameter_count, reserved)
           : std::make_shared<scratch_pool>(posix_disk(), x.scratch_folder, parameter_count,
                                            reserved);
}

void require_middleman(caf::actor_system& system) {
  if (!system.has_middleman())
    throw failure(failure_code::internal, "the actor system has no middleman", {},
                  "call troupe::configure_node(config, timeouts) before making the actor system");
}

} // namespace

void configure_node(caf::actor_system_config& config, const cluster_timeouts& timeouts) {
  configure(config);
  config.load<caf::io::middleman>();
  draw_node_identity(config);
  // Messages from a wire are read on the middleman's thread: with workers they would queue behind computing replicas,
  // for seconds.
  config.set("middleman.workers", size_t{0});
  config.set("middleman.heartbeat-interval", caf::timespan{timeouts.heartbeat});
  config.set("middleman.connection-timeout", caf::timespan{timeouts.lost_after});
  config.set("middleman.enable-automatic-connections", false);
  config.set("scheduler.max-throughput", messages_per_turn);
}

struct networked_process::parts {
  parts(caf::actor_system& host, networked_options given)
    : options(std::move(given)), system(host), self(host) {}

  ~parts() {
    gate_.reset(); // first: it calls the links
    const auto end = [](const auto& actor) {
      if (actor)
        caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    };
    end(links_);
    end(director_);
    process_.reset();
    wait_for_ends();
    if (loop_)
      loop_->stop();
  }

  void start();
  gate_calls calls_to_gate();
  void take(const process_news& news);
  void take_down(const caf::down_msg& news);
  template <class Handle>
  void watch(const Handle& actor);
  void wait_for_ends();
  networked_end wait_here();
  networked_end wait_for_director();
  training_result result_here();
  void keep(training_result& result);
  void say_goodbye(uint8_t code, const std::string& reason);
  void throw_if_ended_badly() const;

  networked_options options;
  caf::actor_system& system;
  caf::scoped_actor self;
  std::set<caf::actor_addr> watched_; ///< whose down messages `self` has not got yet
  std::shared_ptr<node_loop> loop_;   ///< where the node lives
  std::unique_ptr<process> process_;
  director_actor director_; ///< null unless the plan puts it here
  local_links_actor links_;
  std::shared_ptr<gate> gate_;
  std::optional<process_news> end_;
  std::optional<training_finished> finished_;
  /// What the node has said since this process asked to leave: the director lets it go, or does not know of it.
  enum class departure : uint8_t { none, unknown, let_go };
  std::optional<moment> asked_to_leave_;
  std::shared_ptr<std::atomic<departure>> departs_ =
    std::make_shared<std::atomic<departure>>(departure::none);
};

void networked_process::parts::start() {
  begin_arithmetic(options.resolved.runtime);
  const default_rounding rounding;
  const auto& here = node_of(options.cluster, options.own_name);
  auto for_gate = gate_options_of(to_string(system.node()), options);
  const auto term = for_gate.facts.term;
  gate_ = std::make_shared<gate>(std::move(for_gate)); // before the first spawn
  loop_ = std::make_shared<node_loop>(system);
  loop_->start();
  const auto carrying = std::make_shared<carriers>(loop_, carrier_options_of(options, gate_));
  links_options for_links;
  for_links.carrying = carrying;
  for_links.plan = options.cluster;
  for_links.own_name = options.own_name;
  for_links.table = options.table;
  for_links.gate = calls_to_gate();
  for_links.observer = caf::actor_cast<process_observer>(self);
  for_links.introduction_deadline = options.introduction_deadline;
  links_ = system.spawn<caf::detached>(links, for_links);
  process_options for_process;
  for_process.self = {here.name, 0, here.replica_count, here.shard_count};
  for_process.spawn_node = [&](node_options for_node, const local_company& local) {
    for_node.carrier = carrying;
    return spawn_looped(system, loop_, for_node, local);
  };
  for_process.wired = options.cluster.node_count_max() > 1;
  for_process.has_server = here.is_director;
  for_process.exchange.window_bytes = link_credit_of(options.cluster.node_count_max());
  for_process.checkpoint_every = checkpoint_every_of(options.resolved);
  for_process.hooks = options.hooks;
  for_process.trace = options.trace;
  for_process.decisions = options.decisions;
  for_process.device = device_choice(options.resolved, here);
  for_process.on_devices = device_load_of(options.resolved, shape_of(*options.data),
                                          place_in(options.cluster, options.own_name));
  for_process.lost_patience = lost_patience(options.cluster.timeouts);
  for_process.listeners.on_standing = [to = links_](const view_number& view, uint64_t incarnation,
                                                    const std::string& work) {
    caf::anon_send(to, standing{view, incarnation, work, {}});
  };
  for_process.listeners.on_misfit = [to = links_](const std::string& why) {
    caf::anon_send(to, standing{{}, 0, {}, why});
  };
  for_process.listeners.on_left = [to = departs_](bool is_let_go) {
    auto none = departure::none;
    to->compare_exchange_strong(none, is_let_go ? departure::let_go : departure::unknown);
  };
  process_ = std::make_unique<process>(system, options.resolved, options.data, for_process);
  carrying->start(frames_to(caf::actor_cast<node_actor>(process_->node())));
  if (here.is_director) {
    auto for_director = options_of_director(options, process_->network(), term);
    for_director.trace = for_director.hides_work ? nullptr : options.trace;
    if (options.trace)
      for_director.on_clock = [trace = options.trace](const std::string& who, const clock_stamps& x,
                                                      uint64_t heard) {
        trace->on_clock(who, x.directive_sent, x.directive_heard, x.told, heard);
      };
    for_director.scratch = scratch_of(options, for_director.parameter_count);
    for_director.here.rows = [rows = process_->rows()](uint64_t step,
                                                       const std::vector<size_t>& slices) {
      return rows.words(step, slices);
    };
    if (options.checkpoints || for_director.scratch) {
      for_director.writer = system.spawn<caf::detached>(
        checkpoint_writer,
        checkpoint_writer_options{options.checkpoints,
                                  ring_of(for_director.trace, "writer", "an order")});
      watch(for_director.writer);
    }
    director_ = system.spawn<caf::detached>(director, for_director);
  }
  watch(links_);
  watch(process_->node());
  if (director_)
    watch(director_);
  self->send(links_, process_->node(), director_);
  gate_->start([to = links_](gate_news news) { caf::anon_send(to, gate_event{std::move(news)}); });
}

// The links may outlive the gate for a moment.
gate_calls networked_process::parts::calls_to_gate() {
  const std::weak_ptr<gate> way = gate_;
  return {[way](uint64_t ticket, const verdict& what) {
            if (const auto here = way.lock())
              here->answer(ticket, what);
          },
          [way](uint64_t ticket, const std::string& line) {
            if (const auto here = way.lock())
              here->answer_visit(ticket, line);
          },
          [way](const std::string& peer) {
            if (const auto here = way.lock())
              here->dial_again(peer);
          },
          [way](const std::string& peer, const endpoint& where) {
            if (const auto here = way.lock())
              here->dial_now(peer, where);
          },
          [way](const std::string& peer) {
            if (const auto here = way.lock())
              here->forget(peer);
          },
          [way](uint64_t term) {
            if (const auto here = way.lock())
              here->see_term(term);
          },
          [way](const verdict& over) {
            if (const auto here = way.lock())
              here->close(over);
          }};
}

void networked_process::parts::take(const process_news& news) {
  if (news.is_end)
    end_ = news;
  else if (options.on_news)
    options.on_news(news.line);
}

template <class Handle>
void networked_process::parts::watch(const Handle& actor) {
  self->monitor(actor);
  watched_.insert(actor.address());
}

// A message that comes while a scoped actor ends can be lost without being freed. Such a message keeps its sender
// alive, and the actor system waits for the sender's thread for ever. So the last messages are received here.
void networked_process::parts::wait_for_ends() {
  while (!watched_.empty())
    self->receive([this](const caf::down_msg& news) { watched_.erase(news.source); },
                  [](const process_news&) {}, [](const training_progress&) {},
                  [](const training_finished&) {},
                  caf::after(end_deadline) >> [this] { watched_.clear(); });
}

void networked_process::parts::take_down(const caf::down_msg& news) {
  watched_.erase(news.source);
  throw with_plan(loss_failure(system, news.reason, "a part of this process was lost: "),
                  options.resolved, shape_of(*options.data),
                  place_in(options.cluster, options.own_name));
}

void networked_process::parts::throw_if_ended_badly() const {
  if (!end_ || end_->code == 0)
    return;
  throw failure(static_cast<failure_code>(end_->code), end_->line, options.own_name, end_->hint);
}

networked_end networked_process::parts::wait_here() {
  while (!end_) {
    self->receive([this](const process_news& news) { take(news); },
                  [this](const caf::down_msg& news) { take_down(news); },
                  caf::after(stop_poll_interval) >> [] {});
    if (options.trace)
      options.trace->tick();
    const auto now = moment::clock::now();
    if (!asked_to_leave_ && options.stop_requested && options.stop_requested()) {
      asked_to_leave_ = now;
      self->send(process_->node(), atom::leave_v);
    }
    const bool is_overdue =
      asked_to_leave_ && now - *asked_to_leave_ >= options.cluster.timeouts.leave;
    const auto departs = departs_->load();
    if (!end_ && (departs != departure::none || is_overdue))
      return {std::nullopt,
              departs == departure::none ? "left on request, with what others need"
                                         : "left on request",
              false, departs == departure::let_go};
  }
  if (end_->code == static_cast<uint8_t>(refusal_code::agree_first))
    return {std::nullopt, end_->line, true};
  throw_if_ended_badly();
  return {std::nullopt, end_->line};
}

networked_end networked_process::parts::wait_for_director() {
  bool stop_sent = false;
  status_watch watch{self, director_, options.on_status};
  self->send(director_, atom::watch_v, caf::actor_cast<observer_actor>(self));
  self->send(director_, atom::begin_v);
  while (!finished_) {
    self->receive([this](const process_news& news) { take(news); },
                  [this](const training_progress& news) {
                    if (options.on_progress)
                      options.on_progress(news);
                  },
                  [this](const training_finished& news) { finished_ = news; },
                  [this](const caf::down_msg& news) { take_down(news); },
                  caf::after(stop_poll_interval) >> [] {});
    throw_if_ended_badly();
    watch.tick();
    if (options.trace)
      options.trace->tick();
    if (!stop_sent && options.stop_requested && options.stop_requested()) {
      self->send(director_, atom::stop_v);
      stop_sent = true;
    }
  }
  watch.ask();
  // Then the others wait for its next life.
  const bool may_pause = options.checkpoints && options.cluster.recovery.director_pauses;
  if (finished_->failed) {
    const bool was_stopped = finished_->failure == static_cast<uint8_t>(failure_code::interrupted);
    if (!was_stopped || !may_pause)
      say_goodbye(was_stopped ? 0 : finished_->failure, finished_->problem);
    throw_if_failed(*finished_);
  }
  const bool pauses =
    may_pause && finished_->reason == static_cast<uint8_t>(stop_reason::interrupt);
  auto result = result_here();
  keep(result);
  if (pauses)
    return {std::move(result), "paused"};
  say_goodbye(0, "finished");
  return {std::move(result), "finished"};
}

training_result networked_process::parts::result_here() {
  const auto parameters = pull_parameters(self, director_);
  const auto nodes = finished_->nodes;
  const auto groups = groups_of(options.resolved.parallel, finished_->replicas_here);
  auto result = result_of(options.resolved, options.data, process_->network(), parameters,
                          std::move(*finished_));
  result.summary.nodes = nodes;
  result.summary.replicas = groups; // those that were left; the job stays what it was
  return result;
}

void networked_process::parts::keep(training_result& result) {
  try {
    if (options.keep)
      options.keep(result);
  } catch (const failure& error) {
    say_goodbye(static_cast<uint8_t>(error.code()), error.what());
    throw;
  } catch (const std::exception& error) {
    say_goodbye(static_cast<uint8_t>(failure_code::internal), error.what());
    throw;
  }
}

void networked_process::parts::say_goodbye(uint8_t code, const std::string& reason) {
  self->request(links_, farewell_deadline, atom::stop_v, farewell{code, reason})
    .receive([](atom::stop) {}, [](const caf::error&) {}); // the others notice the lost link
}

networked_process::networked_process(caf::actor_system& system, networked_options options) {
  require_middleman(system);
  expect_sound(options.cluster);
  require_fit(options.resume_from, options.resolved, *options.data);
  parts_ = std::make_unique<parts>(system, with_placed_server(std::move(options)));
  parts_->start();
}

networked_process::~networked_process() = default;

uint16_t networked_process::port() const {
  return parts_->gate_->port();
}

networked_end networked_process::wait() {
  return parts_->director_ ? parts_->wait_for_director() : parts_->wait_here();
}

} // namespace troupe
