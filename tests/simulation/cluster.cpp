#include "tests/simulation/cluster.hpp"

#include "actors/director/checkpoint_writer.hpp"
#include "actors/director/director.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/resuming.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/holdings.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/simulation/wire_message.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace troupe::simulation {

cluster_job prepare(const job& x) {
  const auto data = load_data(x);
  return {resolve(x, shape_of(*data), 2), data};
}

namespace {

/// Rows [begin, end) of a regression, as a holding of their own.
holding part_of(const dataset& rows, size_t begin, size_t end) {
  holding result{std::to_string(begin), without_rows(rows), {}};
  auto& part = result.rows;
  part.row_count = end - begin;
  const auto copy = [&](const std::vector<float>& from, size_t width, std::vector<float>& to) {
    to.assign(from.begin() + static_cast<std::ptrdiff_t>(begin * width),
              from.begin() + static_cast<std::ptrdiff_t>(end * width));
  };
  copy(rows.features, rows.feature_count, part.features);
  copy(rows.targets, rows.target_count, part.targets);
  result.fingerprint = content_fingerprint(part);
  return result;
}

} // namespace

cluster_job prepare_homes(const job& x, const std::vector<machine_plan>& machines) {
  const auto rows = make_regression(x.data, x.seed);
  std::vector<holding> holdings{part_of(rows, 0, 7), part_of(rows, 7, 24),
                                part_of(rows, 24, rows.row_count)};
  sort_holdings(holdings);
  const auto table = agreed_table(holdings, 1);
  prepare_options options;
  options.seed = x.seed;
  options.parts = x.data;
  options.standardize = true;
  options.target_scale = target_scale_of(x);
  cluster_job result;
  result.data = std::make_shared<const prepared_data>(prepare_holdings(holdings, table, options));
  result.resolved = resolve(x, shape_of(*result.data), 2);
  auto known = result.data->holdings;
  for (size_t i = 0; i < known.size(); ++i)
    for (const auto& machine : machines)
      if (machine.holding == i)
        known[i].holders.push_back(machine.name);
  const auto learned = learn_scales(table, result.data->held_facts, options);
  for (size_t i = 0; i <= holdings.size(); ++i) {
    const bool has_rows = i < holdings.size();
    result.homes.push_back(std::make_shared<const prepared_data>(prepare_at_home(
      has_rows ? std::optional{split_at_home(holdings[i], table, options)} : std::nullopt,
      has_rows ? std::optional{i} : std::nullopt, table, learned, result.data->held_facts, known)));
  }
  return result;
}

cluster::cluster(world& here, const cluster_job& what, cluster_options options)
  : world_(here),
    job_(what),
    options_(std::move(options)),
    network_(here, options_.wires, [this](const network::link_news& news) { on_link(news); }),
    processes_(options_.machines.size()),
    incarnations_(options_.machines.size()),
    lives_(options_.machines.size()),
    last_words_(options_.machines.size(), "nothing") {
  network_.on_arrival = [this](machine_id, machine_id to, const caf::message& content) {
    on_arrival(to, content);
  };
  world_.add_machine("director");
  for (const auto& plan : options_.machines)
    world_.add_machine(plan.name);
  for (size_t i = 0; i < process_count(); ++i)
    if (options_.machines[i].is_late)
      world_.crash(machine_of(i));
    else
      boot_process(i);
  for (machine_id a = 0; a <= process_count(); ++a)
    for (machine_id b = a + 1; b <= process_count(); ++b)
      network_.join(a, b);
  if (options_.disk_pause > duration{0})
    pause_disk();
}

// All that it was asked for in between is written at once.
void cluster::pause_disk() {
  world_.hang(director_machine, {checkpoint_writer_state::name});
  world_.after(options_.disk_pause, [this] {
    world_.hang(director_machine, {});
    world_.after(duration{1}, [this] { pause_disk(); });
  });
}

cluster::~cluster() {
  if (observer_)
    end_listener(observer_, caf::exit_reason::user_shutdown);
}

std::optional<failure> cluster::boot_director() {
  finished_.reset();
  view_ = {};
  if (observer_)
    end_listener(observer_, caf::exit_reason::user_shutdown);
  observer_ = make_listener(world_.system(), [this](const caf::message& news) {
    if (news.match_elements<training_finished>())
      finished_ = news.get_as<training_finished>(0);
    else if (news.match_elements<training_progress>() && on_notice)
      on_notice(news.get_as<training_progress>(0).notice);
  });
  const auto network = make_model(job_.resolved, shape_of(*job_.data));
  const auto& data = job_.homes.empty() ? job_.data : job_.homes.back();
  auto options = director_options_of(job_.resolved, *data, *network);
  for (const auto& plan : options_.machines)
    if (plan.is_listed())
      options.membership.expected.push_back({plan.name, plan.replica_count, plan.shard_count});
    else
      options.membership.lets_join = true;
  if (has_server(job_.resolved.training)) { // as in a real cluster: each replica has a part
    options.membership.decider = options_.machines.front().name;
    options.membership.slice_count = 0;
    for (const auto& plan : options_.machines)
      options.membership.slice_count += plan.replica_count;
    options.membership.holders = by_replica(options.membership.holders, [&](const auto& name) {
      const auto found = std::ranges::find(options_.machines, name, &machine_plan::name);
      return found == options_.machines.end() ? 0 : found->replica_count;
    });
  }
  options.rule.waits_for_rows = true;
  options.rule.checkpoint_every = checkpoint_every_of(job_.resolved);
  options.membership.min_nodes = 1; // some are switched on late, or never
  options.membership.settle = options_.join_timeout;
  options.membership.links_first = true;
  options.membership.leave_patience = milliseconds{5};
  if (options_.spreads)
    options.membership.spread_after = milliseconds{5};
  options.membership.speeds = {milliseconds{50}, 2, milliseconds{100}, milliseconds{1'000}};
  if (auto& copies = options.membership.copies; copies.deputies > 0) {
    copies.deputies = options_.deputies;
    copies.every = options_.copy_every;
  }
  options.exchange = options_.exchange;
  options.membership.lost_after =
    std::chrono::duration_cast<milliseconds>(options_.wires.lost_after);
  options.membership.join_timeout = options_.join_timeout;
  if (!has_server(job_.resolved.training))
    // Who is lost here dies of the seed, not of its work: three at one step in 20,000 seeds.
    options.lost_work = {2 * job_.resolved.runtime.attempts, 2 * options.membership.lost_after};
  std::shared_ptr<checkpoint_store> checkpoints;
  if (options_.disk)
    try {
      checkpoints = std::make_shared<checkpoint_store>(options_.disk, run_folder);
      options.scratch =
        std::make_shared<scratch_pool>(options_.disk, run_folder, options.parameter_count, 0);
      options.resume_from = checkpoints->latest(options.job_sha256).newest;
      options.membership.persisted_term = term_floor(
        checkpoints->read_term(), world_.now().time_since_epoch() + options_.clock_ahead);
    } catch (const failure& problem) {
      world_.trace(std::string{"the director cannot start: "} + problem.what());
      return problem;
    }
  else {
    options.rule.checkpoint_every = 0;
    options.membership.persisted_term =
      term_floor(0, world_.now().time_since_epoch() + options_.clock_ahead);
  }
  resumed_from_ = options.resume_from;
  world_.boot(director_machine);
  world_.trace("the director starts" +
               (resumed_from_ ? " from version " + std::to_string(resumed_from_->version)
                              : std::string{" from the beginning"}));
  world_.act_on(director_machine, [&] {
    if (checkpoints)
      options.writer =
        world_.system().spawn(checkpoint_writer, checkpoint_writer_options{checkpoints});
    director_ = world_.system().spawn(troupe::director, options);
  });
  caf::anon_send(director_, atom::watch_v, caf::actor_cast<observer_actor>(observer_));
  caf::anon_send(director_, atom::begin_v);
  network_.set_address(director_machine, caf::actor_cast<caf::strong_actor_ptr>(director_));
  return std::nullopt;
}

/// Then a replica says that it has become faster, or ten times slower: slices move, and move again.
constexpr size_t slices_of_one_speed = 20;

bool cluster::decides(size_t index) const {
  return index == 0 && has_server(job_.resolved.training);
}

void cluster::boot_process(size_t index, size_t lacking) {
  const auto machine = machine_of(index);
  world_.boot(machine);
  ++lives_[index];
  process_options options;
  options.self = member_of(index, 0);
  options.self.replica_count -= lacking;
  options.has_server = decides(index);
  if (options.has_server)
    options.decisions.file = options_.record;
  options.listeners.on_misfit = [this, index](const std::string& why) {
    world_.trace(options_.machines[index].name + " ends: " + why);
    world_.after(duration{0}, [this, index] {
      if (processes_[index])
        crash_process(index, false);
    });
  };
  options.listeners.on_left = [this, index, life = lives_[index]](bool) {
    world_.after(duration{0}, [this, index, life] { end_leave(index, life, true); });
  };
  options.checkpoint_every = options_.disk ? checkpoint_every_of(job_.resolved) : 0;
  options.hooks = std::make_shared<test_hooks>(options_.hooks);
  if (options_.speeds_change)
    options.hooks->slice_time = [index, count = std::make_shared<size_t>(0)] {
      const bool is_slow = (++*count / slices_of_one_speed + index) % 3 == 0;
      return milliseconds{is_slow ? 10 : 1};
    };
  options.lost_patience = 2 * std::chrono::duration_cast<milliseconds>(options_.wires.lost_after);
  options.exchange = options_.exchange;
  world_.act_on(machine, [&] {
    processes_[index] = std::make_unique<process>(world_.system(), job_.resolved,
                                                  job_.at(options_.machines[index]), options);
  });
  network_.set_address(machine, caf::actor_cast<caf::strong_actor_ptr>(processes_[index]->node()));
}

void cluster::ask_to_leave(size_t index, duration grace, std::function<void(bool)> then) {
  if (!processes_[index] || !leavers_.emplace(index, std::move(then)).second)
    return;
  caf::anon_send(processes_[index]->node(), atom::leave_v);
  world_.after(grace, [this, index, life = lives_[index]] { end_leave(index, life, false); });
}

void cluster::end_leave(size_t index, uint64_t life, bool has_left) {
  if (lives_[index] != life || !processes_[index])
    return;
  if (auto then = leavers_.extract(index)) {
    world_.trace(options_.machines[index].name + (has_left ? " has left" : " has had its time"));
    then.mapped()(has_left);
  }
}

void cluster::crash_director(bool without_a_word) {
  world_.crash(director_machine);
  if (without_a_word)
    network_.machine_vanished(director_machine);
  else
    network_.machine_crashed(director_machine);
  director_ = nullptr;
  stale_orders_ = std::exchange(orders_, {});
}

void cluster::hear_stale_director() {
  for (size_t i = 0; i < process_count(); ++i) {
    if (!processes_[i])
      continue;
    const auto node = caf::actor_cast<node_actor>(processes_[i]->node());
    if (stale_orders_.view)
      caf::anon_send(node, *stale_orders_.view);
    if (stale_orders_.way)
      caf::anon_send(node, *stale_orders_.way);
    if (stale_orders_.hold)
      caf::anon_send(node, *stale_orders_.hold);
  }
}

void cluster::note_orders(const caf::message& content) {
  if (content.match_elements<cluster_view>())
    orders_.view = content.get_as<cluster_view>(0);
  else if (content.match_elements<directive>())
    orders_.way = content.get_as<directive>(0);
  else if (content.match_elements<hold_request>())
    orders_.hold = content.get_as<hold_request>(0);
}

void cluster::crash_process(size_t index, bool without_a_word) {
  world_.crash(machine_of(index));
  if (without_a_word)
    network_.machine_vanished(machine_of(index));
  else
    network_.machine_crashed(machine_of(index));
  processes_[index].reset();
  leavers_.erase(index);
  last_words_[index] = "gone";
}

void cluster::stop() {
  if (director_)
    caf::anon_send(director_, atom::stop_v);
}

std::vector<float> cluster::pull_parameters() {
  std::vector<float> result;
  caf::scoped_actor self{world_.system()};
  auto answer = self->request(director_, std::chrono::minutes{60}, atom::pull_v);
  world_.drain();
  answer.receive(
    [&](const trained_model& whole) {
      const auto values = whole.parameters.values();
      result.assign(values.begin(), values.end());
    },
    [](const caf::error&) {});
  return result;
}

std::string cluster::director_status() {
  if (!director_ || !world_.is_running(director_machine))
    return "no director";
  std::string result;
  caf::scoped_actor self{world_.system()};
  auto answer = self->request(director_, std::chrono::minutes{60}, atom::status_v);
  world_.drain();
  answer.receive(
    [&](const training_status& status) {
      result =
        status.phase + " at version " + std::to_string(status.version) + ", " + status.waits_for;
    },
    [](const caf::error&) {});
  return result;
}

std::vector<std::string> cluster::last_words() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < process_count(); ++i)
    result.push_back(options_.machines[i].name + ": " + last_words_[i]);
  return result;
}

void cluster::shut_down() {
  network_.close();
  for (auto& one : processes_)
    one.reset();
  if (director_)
    caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
  world_.drain();
  director_ = nullptr;
}

member cluster::member_of(size_t index, uint64_t incarnation) const {
  const auto& plan = options_.machines[index];
  member result{plan.name, incarnation, plan.replica_count, plan.shard_count, lives_[index]};
  if (!plan.is_listed())
    for (const auto& other : options_.machines) {
      result.replica_count = std::max(result.replica_count, other.replica_count);
      result.shard_count = std::max(result.shard_count, other.shard_count);
    }
  return result;
}

void cluster::on_link(const network::link_news& news) {
  const auto way = caf::actor_cast<node_actor>(news.way);
  if (news.self == director_machine) {
    if (director_)
      caf::anon_send(director_, member_of(news.peer - 1, news.number), way);
    return;
  }
  const auto& here = processes_[news.self - 1];
  if (!here)
    return;
  if (news.peer == director_machine) {
    incarnations_[news.self - 1] = news.number;
    caf::anon_send(here->node(), news.number, caf::actor_cast<director_link_actor>(news.way));
  } else {
    caf::anon_send(here->node(), world_.name_of(news.peer), news.number, way);
  }
}

void cluster::on_arrival(machine_id to, const caf::message& content) {
  version_ = std::max(version_, version_shown(content).value_or(0));
  note_orders(content);
  if (on_directive && content.match_elements<directive>())
    on_directive(content.get_as<directive>(0));
  if (content.match_elements<node_report>()) {
    const auto& report = content.get_as<node_report>(0);
    for (size_t i = 0; i < process_count(); ++i)
      if (options_.machines[i].name == report.name)
        last_words_[i] = in_words(content);
  }
  const auto join_anew = [this, to] {
    world_.after(std::chrono::milliseconds{100}, [this, to, was = incarnations_[to - 1]] {
      if (incarnations_[to - 1] == was && network_.is_linked(director_machine, to))
        network_.reset_link(director_machine, to);
    });
  };
  if (content.match_elements<given_up>() &&
      content.get_as<given_up>(0).incarnation == incarnations_[to - 1])
    join_anew();
  if (!content.match_elements<cluster_view>())
    return;
  const auto& news = content.get_as<cluster_view>(0);
  if (view_.id <= news.id)
    view_ = news;
  if (on_view)
    on_view(news);
  // Who was turned away joins anew.
  const auto place = news.find(world_.name_of(to));
  if (!place || news.members[*place].incarnation != incarnations_[to - 1])
    join_anew();
}

} // namespace troupe::simulation
