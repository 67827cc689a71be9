#include "tests/simulation/trial.hpp"

#include "actors/run/job_data.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "tests/simulation/faults.hpp"
#include "tests/simulation/mode_trial.hpp"
#include "tests/support/temporary_folder.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe::simulation {

namespace {

using namespace std::chrono_literals;

/// How long a cluster may take to end a 20-step job once nothing is wrong any more: to notice a
/// loss (6 s), to be given up on and to join anew, several times over. A step of a split model crosses
/// slow wires several times, and so does a parameter server's checkpoint, which has each member's state.
duration patience_with(const workload& what) {
  const bool is_kept = what.with_twin != agreement::every_version;
  return is_kept || what.what.parallel.splits() ? 240s : 90s;
}

cluster_options options_for(const std::vector<machine_plan>& machines,
                            std::shared_ptr<simulated_disk> disk, oracle& judge) {
  cluster_options options;
  options.machines = machines;
  options.disk = std::move(disk);
  options.hooks.on_applied = [&judge](const applied_step& x) { judge.on_applied(x); };
  return options;
}

std::shared_ptr<simulated_disk> new_disk(uint64_t seed) {
  auto disk = std::make_shared<simulated_disk>(seed);
  disk->make_folder(run_folder);
  return disk;
}

/// Wires differ from run to run: some are so slow that what is under way is asked for again.
wire_options draw_wires(dice& random) {
  wire_options wires;
  static constexpr duration slowest[] = {1ms, 3ms, 20ms, 250ms};
  wires.delay_max = slowest[random.below(4)];
  wires.last_words_percent = 50;
  return wires;
}

/// Half of all disks write at once, some so seldom that training waits for them.
duration draw_disk_pause(dice& random) {
  static constexpr duration pauses[] = {0ms, 0ms, 20ms, 700ms};
  return pauses[random.below(4)];
}

/// One cluster's part of a trial: all of it, or until or after an interrupt.
class act {
public:
  act(caf::actor_system& system, uint64_t seed, const prepared_workload& what,
      const std::vector<machine_plan>& machines, std::shared_ptr<simulated_disk> disk,
      oracle& judge, trial_report& report, const trial_options& options,
      const std::string& record = {}, duration clock_ahead = {})
    : what_(what),
      seed_(seed),
      clock_ahead_(clock_ahead),
      record_(record),
      pieces_apart_(options.pieces_apart),
      spreads_(options.has_notices),
      judge_(judge),
      report_(report),
      world_(system, seed, options.trace),
      cluster_(world_, what.trained, with_wires(options_for(machines, std::move(disk), judge))),
      caretaker_(world_, cluster_, judge, report) {
    cluster_.on_view = [this](const cluster_view& news) { judge_.on_view(news); };
    cluster_.on_notice = [this](const std::string& line) {
      if (world_.traces())
        world_.trace("told: " + line);
      if (line.starts_with("left out: "))
        judge_.on_left_out();
      if (line.find("nobody worked") != std::string::npos) // it is healed, but should not happen
        judge_.report("all waited for each other: " + line);
    };
    cluster_.on_directive = [this](const directive& news) { judge_.on_directive(news); };
  }

  /// Plays until training ends; false when it failed to.
  bool play(std::vector<fault> faults) {
    caretaker_.start(std::move(faults));
    const auto outcome = world_.run(
      [this] {
        caretaker_.look();
        return caretaker_.is_over() ||
               world_.now() > caretaker_.healed_at() + patience_with(*what_.what);
      },
      world_.now() + 2h);
    const bool ended = outcome == world::outcome::done && caretaker_.is_over();
    if (!ended)
      report_stall(outcome);
    else if (!judge_finish() && !has_spent_work())
      judge_.report("training failed: " + cluster_.finished()->problem);
    leave();
    return judge_.violations().empty();
  }

  bool was_interrupted() const { return was_interrupted_; }
  /// What training came to.
  const std::optional<training_finished>& end() const { return end_; }
  const std::vector<float>& parameters() const { return parameters_; }

private:
  /// A round of federated training ends with work that nobody can finish.
  bool has_spent_work() const {
    return cluster_.finished()->problem.find("replicas were lost with it") != std::string::npos;
  }

  cluster_options with_wires(cluster_options options) {
    options.wires = draw_wires(world_.random());
    options.wires.pieces_apart = pieces_apart_;
    options.disk_pause = options.disk ? draw_disk_pause(world_.random()) : duration{0};
    const bool is_twin = what_.reference.versions.empty();
    options.hooks.keeps_slices_apart = !what_.what->adds_siblings || is_twin;
    options.exchange = what_.what->exchange;
    options.clock_ahead = clock_ahead_;
    options.record = record_;
    options.spreads = spreads_;
    options.deputies = seed_ % 3; // drawn without dice: the rest of a seed stays what it was
    options.copy_every = seed_ / 3 % 4;
    return options;
  }

  bool judge_finish() {
    const auto& end = *cluster_.finished();
    if (end.failed)
      return false;
    was_interrupted_ = end.reason == static_cast<uint8_t>(stop_reason::interrupt);
    parameters_ = cluster_.pull_parameters();
    end_ = end;
    judge_.on_finished(end, parameters_);
    return true;
  }

  void report_stall(world::outcome outcome) {
    static constexpr const char* why[] = {"time passes", "nothing will happen any more",
                                          "time is up", "messages go round in circles"};
    std::string text = "no end: " + std::string{why[static_cast<size_t>(outcome)]} +
                       "; the director: " + cluster_.director_status();
    for (const auto& words : cluster_.last_words())
      text += "; " + words;
    judge_.report(text);
  }

  void leave() {
    report_.messages += world_.messages_run();
    report_.virtual_time += world_.elapsed();
    report_.fingerprint = report_.fingerprint * 31 + world_.fingerprint();
    if (cluster_.wires().most_bytes_under_way() > cluster_.options().exchange.window_bytes)
      judge_.report(std::to_string(cluster_.wires().most_bytes_under_way()) +
                    " bytes of pieces were under way on a link, more than there is credit for");
    caretaker_.let_all_run();
    cluster_.shut_down();
    for (const auto& name : world_.living_actors())
      judge_.report(name + " is left");
    if (const auto timers = world_.living_timers(); timers > 0)
      judge_.report(std::to_string(timers) + " timers are left");
  }

  const prepared_workload& what_;
  uint64_t seed_;
  duration clock_ahead_;
  std::string record_;
  bool pieces_apart_;
  bool spreads_;
  oracle& judge_;
  trial_report& report_;
  world world_;
  cluster cluster_;
  caretaker caretaker_;
  bool was_interrupted_ = false;
  std::optional<training_finished> end_;
  std::vector<float> parameters_;
};

} // namespace

prepared_workload prepare(caf::actor_system& system, const workload& what) {
  prepared_workload result;
  result.what = &what;
  if (what.has_holders) {
    auto machines = what.machines;
    for (const auto& other : what.other_machines)
      if (std::ranges::find(machines, other.name, &machine_plan::name) == machines.end())
        machines.push_back(other);
    result.trained = prepare_homes(what.what, machines);
  } else {
    result.trained = prepare(what.what);
  }
  const auto shape = shape_of(*result.trained.data);
  result.plan = timeline_of(result.trained.resolved, shape);
  const auto network = make_model(result.trained.resolved, shape);
  result.parameter_count = network->layout().size();
  oracle recorder{result.plan, result.parameter_count, nullptr, what.with_twin};
  trial_report report;
  const bool splits = what.what.parallel.splits();
  auto alone = result;
  alone.trained.homes.clear();
  if (splits) {
    auto whole = what.what;
    whole.parallel.tensor = whole.parallel.pipeline = 1;
    whole.parallel.sharded = false;
    alone.trained = prepare(whole);
  }
  const std::vector<machine_plan> one{{"alone", 1, 1}};
  act only{system,      0,        alone,  splits || what.has_holders ? one : what.machines,
           new_disk(0), recorder, report, {}};
  if (!only.play({}))
    throw std::runtime_error("the twin of " + what.name + ": " + recorder.violations().front());
  result.reference = recorder.seen();
  const buffer first{result.parameter_count};
  network->initialize(result.trained.resolved.seed, first.values());
  result.reference.versions[0].assign(first.values().begin(), first.values().end());
  return result;
}

trial_report run_trial(caf::actor_system& system, const prepared_workload& what,
                       const trial_options& options) {
  trial_report report;
  dice random{options.seed * 0x9e3779b97f4a7c15ULL + 1};
  oracle judge{what.plan, what.parameter_count, &what.reference, what.what->with_twin,
               what.what->with_twin == agreement::every_version && !what.what->is_diskless
                 ? what.trained.resolved.checkpoint.every_steps
                 : 0}; // of whose versions are seen
  const auto drawn = random.bits();
  const auto disk = what.what->is_diskless ? nullptr : new_disk(drawn);
  const temporary_folder folder; // the decisions of an asynchronous run
  const auto record = folder.path("sequence.txt");
  std::optional<training_finished> end;
  std::vector<float> parameters;
  const auto note_end = [&](const act& one) {
    end = one.end();
    parameters = one.parameters();
  };
  bool interrupted = false;
  {
    act first{system, random.bits(), what,  what.what->machines, disk, judge,
              report, options,       record};
    auto faults = draw_faults(options.seed, what.reference.finished.version, random);
    if (options.has_notices) {
      dice others{options.seed * 0x9e3779b97f4a7c15ULL + 2};
      if (options.seed % 2 > 0) {
        faults.clear();
        if (copies_spans(what.trained.resolved))
          judge.expect_nothing_undone();
      }
      std::ranges::copy(draw_notices(what.reference.finished.version, others),
                        std::back_inserter(faults));
    }
    interrupted = first.play(faults) && first.was_interrupted();
    note_end(first);
  }
  if (interrupted) {
    if (options.trace)
      options.trace(duration{0}, "the run goes on in another cluster");
    if (disk) {
      disk->close_all();
      disk->forget_faults(); // they were the first cluster's
    }
    act second{system,  random.bits(), what, what.what->other_machines, disk, judge, report,
               options, record,        24h};
    second.play({});
    note_end(second);
  }
  if (what.what->what.training.strategy == strategy_kind::gradients &&
      has_server(what.trained.resolved.training) && end && judge.violations().empty())
    for (const auto& words : replay(system, what.trained, record, *end, parameters))
      judge.report(words);
  report.violations = judge.violations();
  report.view_changes = judge.view_changes();
  report.roll_backs = judge.roll_backs();
  return report;
}

} // namespace troupe::simulation
