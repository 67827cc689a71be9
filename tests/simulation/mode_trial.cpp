#include "tests/simulation/mode_trial.hpp"

#include "actors/protocol/write_messages.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/training_modes.hpp"
#include "tests/simulation/network.hpp"
#include "tests/support/server_oracle.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <stdexcept>

namespace troupe::simulation {

namespace {

using namespace std::chrono_literals;

/// 48 training rows in steps of 8: 6 an epoch, 30 in all.
job small_job(const std::string& name) {
  job x;
  x.name = name;
  x.seed = 3;
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = 64;
  x.data.features = 3;
  x.data.test_fraction = 0.25;
  x.model.kind = model_kind::linear_regression;
  x.optimizer.learning_rate = 0.02;
  x.training.batch_size = 8;
  x.training.epochs = 5;
  x.runtime.attempts = 0; // who is lost here dies of the seed, not of its work
  return x;
}

mode_workload gradients(const std::string& name, consistency_kind consistency,
                        const std::function<void(troupe::training_options&)>& choose = {}) {
  auto x = small_job(name);
  x.training.consistency = consistency;
  if (choose)
    choose(x.training);
  return {name, x};
}

mode_workload rounds(const std::string& name, const std::function<void(job&)>& choose = {}) {
  auto x = small_job(name);
  x.training.strategy = strategy_kind::parameters;
  x.training.members = 4;
  x.training.local_steps = 2;
  x.optimizer.kind = optimizer_kind::adam;
  if (choose)
    choose(x);
  return {name, x};
}

/// A round is a version. Of six clients some drop out, and fewer than four are a void round.
mode_workload federated(const std::string& name, const std::function<void(job&)>& choose = {}) {
  auto x = small_job(name);
  x.training.strategy = strategy_kind::federated;
  x.training.epochs = troupe::training_options{}.epochs;
  x.training.batch_size = 2;
  x.optimizer.kind = optimizer_kind::adam;
  x.federated.clients = 12;
  x.federated.cohort = 6;
  x.federated.rounds = 30;
  x.federated.drop_out = 0.3;
  x.federated.min_count = 4;
  if (choose)
    choose(x);
  return {name, x};
}

std::vector<mode_workload> make_workloads() {
  using enum consistency_kind;
  using options = troupe::training_options;
  return {gradients("asynchronous", asynchronous),
          gradients("staleness-0", bounded),
          gradients("staleness-2", bounded, [](options& x) { x.staleness_max = 2; }),
          gradients("first-2", half_synchronous, [](options& x) { x.first_count = 2; }),
          gradients("first-3", half_synchronous, [](options& x) { x.first_count = 3; }),
          gradients("lag", lag),
          rounds("rounds"),
          rounds("elastic", [](job& x) { x.merge.elastic_alpha = 0.1; }),
          rounds("outer",
                 [](job& x) {
                   x.training.local_steps = 3;
                   x.merge.outer = {outer_kind::sgd, 0.7, 0.9, true};
                 }),
          federated("federated"),
          federated("groups", [](job& x) {
            x.federated.cohort = 9;
            x.federated.groups = 3;
            x.merge.members.rule = merge_rule::median;
            x.merge.outer = {outer_kind::sgd, 0.7, 0.9, true};
          })};
}

/// A round's work is several steps, so its trainers are slower, and nothing else is.
constexpr duration whole_run = 60ms;
/// After the last event: what a run may take that nothing disturbs, with the slowest trainers.
constexpr duration patience = 30s;

/// Whoever computes what: the bits follow from the job.
bool has_same_bits(const job& x) {
  return x.training.strategy != strategy_kind::gradients;
}

/// How long each piece of work takes, drawn as it comes.
std::function<duration(uint64_t, uint64_t)> draw_speeds(dice& random) {
  static constexpr std::array<duration, 5> paces{1ms, 1ms, 2ms, 10ms, 0ms};
  std::vector<duration> places;
  for (int i = 0; i < 16; ++i)
    places.push_back(paces[random.below(paces.size())]);
  const bool varies = random.chance(50);
  return [places, varies, own = std::make_shared<dice>(random.bits())](uint64_t place, uint64_t) {
    const auto pace = places[place % places.size()];
    return varies ? own->between(pace / 2, pace * 2) : pace;
  };
}

class mode_act {
public:
  /// `record`: path of what gets an asynchronous run's decisions.
  mode_act(caf::actor_system& system, const prepared_mode& what, uint64_t seed,
           const trace_sink& trace, const std::string& record)
    : random_(seed * 0x9e3779b97f4a7c15ULL + 7),
      drawn_(draw_job(what.trained, random_)),
      is_undisturbed_(what.twin.parameters.empty() && has_same_bits(drawn_.resolved)),
      oracle_(drawn_.resolved.training, *drawn_.resolved.training.replicas),
      world_(system, random_.bits(), trace),
      company_(world_, drawn_, options(record)) {}

  mode_report play(const mode_twin& twin) {
    if (!is_undisturbed_)
      draw_events();
    const auto outcome = world_.run([this] { return company_.finished().has_value(); },
                                    world_.now() + whole_run + patience);
    auto violations = judge(outcome, twin);
    mode_report report;
    report.violations = oracle_.violations();
    report.violations.insert(report.violations.end(), violations.begin(), violations.end());
    using enum trainer_event::kind;
    for (const auto kind : {given, used, discarded, refused, lost, joined})
      report.counts[kind] = oracle_.count(kind);
    report.staleness_max = oracle_.staleness_max();
    report.messages = world_.messages_run();
    report.virtual_time = world_.elapsed();
    report.fingerprint = world_.fingerprint();
    for (const auto value : parameters_)
      report.fingerprint = report.fingerprint * 31 + std::bit_cast<uint32_t>(value);
    return report;
  }

  training_finished end() const { return *company_.finished(); }
  mode_twin outcome() {
    const auto& end = company_.finished();
    return {parameters_, end->history, company_.figures().clients};
  }

private:
  static cluster_job draw_job(cluster_job x, dice& random) {
    auto& training = x.resolved.training;
    const size_t least =
      training.consistency == consistency_kind::half_synchronous ? training.first_count : 1;
    training.replicas = least + random.below(5);
    return x;
  }

  kept_options options(const std::string& record) {
    kept_options result;
    result.decisions.file = record;
    result.takes = draw_speeds(random_);
    result.on_trainer = [this](const trainer_event& x) { oracle_.on(x); };
    result.extra_count = is_undisturbed_ ? 0 : random_.below(3);
    if (!is_undisturbed_ && is_federated(drawn_.resolved.training))
      result.clients_of_task = random_.below(5); // 0: by how many trainers there are
    return result;
  }

  void draw_events() {
    for (auto count = random_.below(7); count > 0; --count) {
      const auto who = random_.below(company_.trainer_count());
      const auto what = random_.below(3);
      world_.after(random_.between(0ms, whole_run), [this, who, what] { befall(who, what); });
    }
    was_stopped_ = random_.chance(10);
    if (was_stopped_)
      world_.after(random_.between(0ms, whole_run), [this] { company_.stop(); });
  }

  // One of those that the process began with always stays: without them it ends.
  void befall(size_t who, size_t what) {
    size_t stay = 0;
    for (size_t i = 0; i < company_.original_count(); ++i)
      stay += i != who && company_.is_alive(i) && company_.is_named(i) ? 1 : 0;
    if (what == 2) {
      world_.trace("a view names trainer " + std::to_string(who));
      company_.name(who, true);
    } else if (stay > 0) {
      world_.trace("trainer " + std::to_string(who) + (what == 0 ? " dies" : " is left out"));
      what == 0 ? company_.kill(who) : company_.name(who, false);
    }
  }

  std::vector<std::string> judge(world::outcome outcome, const mode_twin& twin) {
    static constexpr const char* why[] = {"", "nothing will happen any more", "time is up",
                                          "messages go round in circles"};
    const auto& end = company_.finished();
    if (!end)
      return {std::string{"no end: "} + why[static_cast<size_t>(outcome)]};
    if (end->failed)
      return {"training failed: " + end->problem};
    std::vector<std::string> result;
    const auto whole = uint64_t{30};
    if (!was_stopped_ && end->version != whole)
      result.push_back("training ended at version " + std::to_string(end->version));
    oracle_.on_end(end->version);
    parameters_ = company_.pull_parameters();
    if (end->version == whole && !twin.parameters.empty())
      compare(twin, result);
    for (const auto& row : end->history)
      if (!row.test_loss)
        result.push_back("version " + std::to_string(row.steps) + " was not evaluated");
    return result;
  }

  // Every version was evaluated, so the history shows each of them, void rounds included.
  void compare(const mode_twin& twin, std::vector<std::string>& out) {
    const auto here = outcome();
    if (here.parameters != twin.parameters)
      out.push_back("the bits are not those of the undisturbed run");
    if (!is_federated(drawn_.resolved.training))
      return;
    if (here.clients != twin.clients)
      out.push_back(
        "other clients counted, or other rounds were void, than in the undisturbed run");
    for (size_t i = 0; i < std::min(here.history.size(), twin.history.size()); ++i)
      if (here.history[i].train_loss != twin.history[i].train_loss ||
          here.history[i].test_loss != twin.history[i].test_loss)
        out.push_back("version " + std::to_string(twin.history[i].steps) +
                      " has other losses than in the undisturbed run");
  }

  dice random_;
  cluster_job drawn_;
  bool is_undisturbed_; ///< this is the twin
  bool was_stopped_ = false;
  test::server_oracle oracle_;
  world world_;
  kept_company company_;
  std::vector<float> parameters_;
};

} // namespace

const std::vector<mode_workload>& mode_workloads() {
  static const auto all = make_workloads();
  return all;
}

prepared_mode prepare(caf::actor_system& system, const mode_workload& what) {
  prepared_mode result{&what, prepare(what.what), {}};
  if (!has_same_bits(what.what))
    return result;
  mode_act only{system, result, 0, {}, {}};
  const auto report = only.play({});
  if (!report.violations.empty())
    throw std::runtime_error("the twin of " + what.name + ": " + report.violations.front());
  result.twin = only.outcome();
  return result;
}

mode_report run_trial(caf::actor_system& system, const prepared_mode& what, uint64_t seed,
                      const trace_sink& trace) {
  const temporary_folder folder;
  const auto record = folder.path("sequence.txt");
  training_finished end;
  mode_twin outcome;
  mode_report report;
  {
    mode_act one{system, what, seed, trace, record};
    report = one.play(what.twin);
    if (!report.violations.empty() || has_same_bits(what.what->what))
      return report;
    end = one.end();
    outcome = one.outcome();
  }
  report.violations = replay(system, what.trained, record, end, outcome.parameters);
  return report;
}

namespace {

/// Its figures follow from the decisions, but for the times.
std::string difference(const history_row& row, const std::vector<history_row>& others) {
  const auto what = "the replay has no row of version " + std::to_string(row.steps);
  const auto other = std::ranges::find(others, row.steps, &history_row::steps);
  if (other == others.end())
    return what;
  auto same = *other;
  same.seconds = row.seconds;
  if (same.hash != row.hash)
    return what + " with this hash";
  return same == row ? "" : what + " with these figures";
}

} // namespace

std::vector<std::string> replay(caf::actor_system& system, const cluster_job& what,
                                const std::string& record, const training_finished& run,
                                const std::vector<float>& parameters) {
  kept_options options;
  options.decisions.replay = std::make_shared<const recorded_sequence>(read_sequence(record));
  world here{system, 1};
  kept_company again{here, what, options};
  here.run([&] { return again.finished().has_value(); }, here.now() + 1h);
  const auto& end = again.finished();
  if (!end || end->failed || end->version != run.version)
    return {"the replay ends at version " + std::to_string(end ? end->version : 0) + ": " +
            (end ? end->problem : "nothing happens any more")};
  std::vector<std::string> result;
  for (const auto& row : run.history)
    if (auto words = difference(row, end->history); !words.empty())
      result.push_back(std::move(words));
  if (again.pull_parameters() != parameters)
    result.emplace_back("the replay has another result");
  return result;
}

kept_company::kept_company(world& here, const cluster_job& what, const kept_options& options)
  : world_(here), home_(here.add_machine("home")) {
  company_options for_company;
  for_company.director_detached = false;
  for_company.shard_count = 1;
  for_company.decisions = options.decisions;
  hooks_of(for_company).answer_delay = options.takes;
  hooks_of(for_company).on_trainer = options.on_trainer;
  hooks_of(for_company).clients_of_task = options.clients_of_task;
  world_.act_on(home_, [&] {
    company_ = std::make_unique<company>(world_.system(), what.resolved, what.data, for_company);
  });
  for (const auto& actor : company_->replicas())
    trainers_.push_back({actor});
  for (size_t i = 0; i < options.step_times.size(); ++i) {
    const auto machine = world_.add_machine("replica " + std::to_string(i));
    world_.move(caf::actor_cast<caf::strong_actor_ptr>(company_->replicas().at(i)), machine);
    world_.slow_down(machine, options.step_times[i]);
  }
  if (options.extra_count > 0) {
    process_options for_extras;
    for_extras.self = {"extras", 1, options.extra_count, 1};
    for_extras.wired = false;
    for_extras.hooks = for_company.hooks;
    world_.act_on(home_, [&] {
      extras_ = std::make_unique<process>(world_.system(), what.resolved, what.data, for_extras);
      caf::anon_send_exit(extras_->node(), caf::exit_reason::kill);
      caf::anon_send_exit(extras_->actors().server, caf::exit_reason::kill);
    });
    for (const auto& actor : extras_->actors().workers)
      trainers_.push_back({actor, true, false});
  }
  observer_ = make_listener(world_.system(), [this](const caf::message& content) {
    if (content.match_elements<training_finished>())
      finished_ = content.get_as<training_finished>(0);
  });
  caf::anon_send(company_->director(), atom::watch_v, caf::actor_cast<observer_actor>(observer_));
  caf::anon_send(company_->director(), atom::begin_v);
}

kept_company::~kept_company() {
  extras_.reset();
  company_.reset();
}

void kept_company::kill(size_t trainer) {
  trainers_[trainer].lives = false;
  caf::anon_send_exit(trainers_[trainer].actor, caf::exit_reason::kill);
}

void kept_company::name(size_t trainer, bool named) {
  trainers_[trainer].named = named;
  view news;
  news.term = 1;
  news.number = ++view_number_;
  news.director = caf::actor_cast<reports_actor>(company_->node());
  news.relay = caf::actor_cast<relay_actor>(company_->node());
  for (const auto& x : trainers_)
    if (x.named)
      news.trainers.push_back({caf::actor_cast<task_taker_actor>(x.actor)});
  caf::anon_send(company_->server(), news);
}

void kept_company::stop() {
  caf::anon_send(company_->director(), atom::stop_v);
}

template <class Answer, class Handle, class... Question>
Answer kept_company::ask(const Handle& whom, const Question&... question) {
  Answer result;
  caf::scoped_actor self{world_.system()};
  auto answer = self->request(whom, std::chrono::minutes{60}, question...);
  world_.drain();
  answer.receive([&](const Answer& x) { result = x; }, [](const caf::error&) {});
  return result;
}

std::vector<float> kept_company::pull_parameters() {
  const auto result = ask<trained_model>(company_->director(), atom::pull_v);
  const auto values = result.parameters.values();
  return {values.begin(), values.end()};
}

trainer_figures kept_company::figures() {
  return ask<trainer_figures>(company_->server(), atom::figures_v);
}

namespace {

/// Rows that a replica computes before others hear of it.
size_t rows_at_a_time(const job& resolved) {
  const auto& training = resolved.training;
  if (!has_server(training))
    return training.batch_size / *training.replicas;
  if (training.strategy == strategy_kind::parameters)
    return training.batch_size / *training.members * *training.local_steps;
  return training.batch_size;
}

kept_options options_of(const job& resolved, const std::vector<duration>& row_times) {
  std::vector<duration> times;
  for (const auto each : row_times)
    times.push_back(each * rows_at_a_time(resolved));
  kept_options options;
  if (has_server(resolved.training))
    options.takes = [times](uint64_t place, uint64_t) { return times.at(place); };
  else
    options.step_times = times;
  return options;
}

} // namespace

timed_run train_timed(caf::actor_system& system, const job& x,
                      const std::vector<duration>& row_times) {
  const auto prepared = prepare(x);
  world here{system, 1};
  kept_company run{here, prepared, options_of(prepared.resolved, row_times)};
  here.run([&] { return run.finished().has_value(); }, here.now() + std::chrono::hours{1});
  if (!run.finished() || run.finished()->failed)
    throw std::runtime_error("training does not end well");
  return {*run.finished(),
          has_server(prepared.resolved.training) ? run.figures() : trainer_figures{}};
}

} // namespace troupe::simulation
