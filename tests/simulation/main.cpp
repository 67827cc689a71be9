// troupe_simulation: runs whole clusters by seed, on one thread, in virtual time.
//
//   troupe_simulation --seeds A..B [--workload NAME] [--trace]
//   troupe_simulation --kept --seeds A..B [--workload NAME] [--trace]
//   troupe_simulation --federated --seeds A..B [--workload NAME] [--trace]
//   troupe_simulation --spans --seeds A..B [--workload NAME] [--trace]
//   troupe_simulation --split --seeds A..B [--workload NAME] [--trace]
//   troupe_simulation --modes --seeds A..B [--workload NAME] [--trace]
//
// With --apart pieces of tensors overtake messages. With --notice processes are asked to end as well, and are killed after
// a while; every second seed has nothing else. With --kept a parameter server owns all parameters, and its trainers
// are in other processes; with --federated it gives out the clients of federated rounds; with --spans other processes own
// spans of the parameters. With --modes each seed is run in every such mode, in one process.
// Seeds from A up to B, without B. Prints what befell them and how fast they ran. The first seed
// that violates anything ends it, with the command that runs this seed again, line by line.
// Exit code 1 then, 2 for wrong options.

#include "tests/simulation/dice.hpp"
#include "tests/simulation/mode_trial.hpp"
#include "tests/simulation/trial.hpp"
#include "tests/simulation/world.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::simulation {

namespace {

struct command_line {
  seed_range seeds;
  std::string workload;
  bool modes = false;
  workload_set set = workload_set::whole;
  bool trace = false;
  bool apart = false;       ///< pieces overtake messages
  bool has_notices = false; ///< processes are asked to end, too
  bool keeps_going = false; ///< after a violation
  bool replays = false;     ///< each seed runs twice and must be the same
  size_t fired_min = 0;     ///< of each kind; fewer is a failure
  bool needs_views = false; ///< half of the seeds must see a view change
};

std::optional<command_line> read_command_line(int count, char** words) {
  command_line result;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    if (word == "--trace")
      result.trace = true;
    else if (word == "--apart")
      result.apart = true;
    else if (word == "--modes")
      result.modes = true;
    else if (word == "--notice")
      result.has_notices = true;
    else if (word == "--kept")
      result.set = workload_set::kept;
    else if (word == "--home")
      result.set = workload_set::home;
    else if (word == "--federated")
      result.set = workload_set::federated;
    else if (word == "--spans")
      result.set = workload_set::spans;
    else if (word == "--split")
      result.set = workload_set::split;
    else if (word == "--keep-going")
      result.keeps_going = true;
    else if (word == "--replay")
      result.replays = true;
    else if (word == "--check-views")
      result.needs_views = true;
    else if (word == "--workload" && has_value)
      result.workload = words[++i];
    else if (word == "--fired-min" && has_value)
      result.fired_min = read_number(words[++i]).value_or(0);
    else if (word == "--seeds" && has_value)
      result.seeds = read_seeds(words[++i]).value_or(seed_range{});
    else
      return std::nullopt;
  }
  const auto& known = workloads();
  const bool is_known = result.workload.empty() ||
                        std::ranges::find(known, result.workload, &workload::name) != known.end();
  if (result.seeds.first == result.seeds.last || !is_known)
    return std::nullopt;
  return result;
}

struct totals {
  size_t seeds = 0;
  size_t seeds_with_view_change = 0;
  size_t view_changes = 0;
  size_t roll_backs = 0;
  size_t messages = 0;
  std::array<size_t, fault_kind_count> fired{};
  duration virtual_time{0};

  void add(const trial_report& x) {
    ++seeds;
    seeds_with_view_change += x.view_changes > 0 ? 1 : 0;
    view_changes += x.view_changes;
    roll_backs += x.roll_backs;
    messages += x.messages;
    virtual_time += x.virtual_time;
    for (size_t i = 0; i < fired.size(); ++i)
      fired[i] += x.fired[i];
  }
};

void print(const totals& all, double seconds) {
  std::printf("%zu seeds in %.1f s: %.0f a second\n", all.seeds, seconds,
              static_cast<double>(all.seeds) / seconds);
  std::printf("virtual time %.0f s, messages %zu, view changes %zu in %zu seeds, roll-backs %zu\n",
              std::chrono::duration<double>(all.virtual_time).count(), all.messages,
              all.view_changes, all.seeds_with_view_change, all.roll_backs);
  for (size_t i = 0; i < all.fired.size(); ++i)
    std::printf("%8zu  %s\n", all.fired[i], to_string(static_cast<fault_kind>(i)).c_str());
}

/// What a fixed range of seeds must have seen to be worth anything; true when it has.
bool has_seen_enough(const totals& all, const command_line& options) {
  bool enough = true;
  if (options.needs_views && 2 * all.seeds_with_view_change < all.seeds) {
    std::printf("fewer than half of the seeds had a view change\n");
    enough = false;
  }
  for (size_t i = 0; i < (options.has_notices ? fault_kind_count : drawn_fault_count); ++i)
    if (all.fired[i] < options.fired_min) {
      std::printf("too few: %s\n", to_string(static_cast<fault_kind>(i)).c_str());
      enough = false;
    }
  return enough;
}

void print_line(duration when, const std::string& line) {
  std::printf("%12.3f ms  %s\n", static_cast<double>(when.count()) / 1e6, line.c_str());
}

/// Runs every seed until one violates something; how long that took, or nothing if it ended early.
template <class Run>
std::optional<double> seconds_of_all(const command_line& options, Run run) {
  const auto begin = std::chrono::steady_clock::now();
  for (auto seed = options.seeds.first; seed < options.seeds.last; ++seed)
    if (!run(seed) && !options.keeps_going)
      return std::nullopt;
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
}

/// `what`: "workload" or "mode"; `options`: those that the seed needs to be run again.
void print_violations(uint64_t seed, const std::string& what, const std::string& name,
                      const std::string& options, const std::vector<std::string>& violations) {
  const auto number = std::to_string(seed);
  std::printf("seed %s, %s %s:\n", number.c_str(), what.c_str(), name.c_str());
  for (const auto& violation : violations)
    std::printf("  %s\n", violation.c_str());
  std::printf("again: build/bin/troupe_simulation %s--seeds %s --workload %s --trace\n",
              options.c_str(), number.c_str(), name.c_str());
}

/// Every seed in every mode.
class mode_program {
public:
  explicit mode_program(command_line options) : options_(std::move(options)) {
    for (const auto& what : mode_workloads())
      if (options_.workload.empty() || options_.workload == what.name)
        prepared_.push_back(prepare(system_.get(), what));
  }

  int run() {
    const auto seconds = seconds_of_all(options_, [this](uint64_t seed) {
      return std::ranges::all_of(prepared_, [&](const prepared_mode& what) {
        return run_seed(what, seed) || options_.keeps_going;
      });
    });
    if (!seconds)
      return 1;
    std::printf("%zu runs in %.1f s: %.0f a second\n", runs_, *seconds,
                static_cast<double>(runs_) / *seconds);
    using enum trainer_event::kind;
    std::printf("tasks %zu, used %zu, discarded %zu, refused %zu, lost %zu, joined %zu; "
                "staleness up to %llu; %zu runs violated something\n",
                counts_[given], counts_[used], counts_[discarded], counts_[refused], counts_[lost],
                counts_[joined], static_cast<unsigned long long>(staleness_max_), bad_);
    for (const auto kind : {discarded, refused, lost, joined})
      if (options_.workload.empty() && counts_[kind] < options_.fired_min) {
        std::printf("too few of something: this range of seeds is not worth much\n");
        return 1;
      }
    return bad_ == 0 ? 0 : 1;
  }

private:
  bool run_seed(const prepared_mode& what, uint64_t seed) {
    auto report =
      run_trial(system_.get(), what, seed, options_.trace ? trace_sink{print_line} : trace_sink{});
    if (options_.replays && run_trial(system_.get(), what, seed).fingerprint != report.fingerprint)
      report.violations.push_back("the same seed ran otherwise the second time");
    ++runs_;
    for (const auto& [kind, count] : report.counts)
      counts_[kind] += count;
    staleness_max_ = std::max(staleness_max_, report.staleness_max);
    if (report.violations.empty())
      return true;
    ++bad_;
    print_violations(seed, "mode", what.what->name, "--modes ", report.violations);
    return false;
  }

  command_line options_;
  testing_system system_;
  std::vector<prepared_mode> prepared_;
  std::map<trainer_event::kind, size_t> counts_;
  uint64_t staleness_max_ = 0;
  size_t runs_ = 0;
  size_t bad_ = 0;
};

class program {
public:
  explicit program(command_line options) : options_(std::move(options)) {}

  int run() {
    const auto seconds = seconds_of_all(options_, [this](uint64_t seed) { return run_seed(seed); });
    if (!seconds)
      return 1;
    print(all_, *seconds);
    if (bad_seeds_ > 0)
      std::printf("%zu seeds violated something\n", bad_seeds_);
    return has_seen_enough(all_, options_) && bad_seeds_ == 0 ? 0 : 1;
  }

private:
  const prepared_workload& workload_of(uint64_t seed) {
    const auto& known = workloads();
    auto index = troupe::simulation::workload_of(seed, options_.set);
    for (size_t i = 0; i < known.size(); ++i)
      if (known[i].name == options_.workload)
        index = i;
    const auto found = prepared_.find(index);
    if (found != prepared_.end())
      return found->second;
    return prepared_.emplace(index, prepare(system_.get(), known[index])).first->second;
  }

  bool run_seed(uint64_t seed) {
    const auto& what = workload_of(seed);
    trial_options options{seed, {}, options_.apart, options_.has_notices};
    const auto quiet = options;
    if (options_.trace)
      options.trace = print_line;
    auto report = run_trial(system_.get(), what, options);
    if (options_.replays && run_trial(system_.get(), what, quiet).fingerprint != report.fingerprint)
      report.violations.push_back("the same seed ran otherwise the second time");
    all_.add(report);
    if (report.violations.empty())
      return true;
    ++bad_seeds_;
    print_violations(seed, "workload", what.what->name,
                     std::string{options_.apart ? "--apart " : ""} +
                       (options_.has_notices ? "--notice " : ""),
                     report.violations);
    return false;
  }

  command_line options_;
  testing_system system_;
  std::map<size_t, prepared_workload> prepared_;
  totals all_;
  size_t bad_seeds_ = 0;
};

} // namespace

} // namespace troupe::simulation

int main(int count, char** words) {
  const auto options = troupe::simulation::read_command_line(count, words);
  if (!options) {
    std::cerr
      << "usage: troupe_simulation [--kept | --federated | --home | --spans | --split | --modes] "
         "--seeds "
         "A..B "
         "[--workload NAME] [--notice]\n"
         "         [--trace] [--keep-going] [--replay] [--check-views] [--fired-min COUNT]\n";
    return 2;
  }
  try {
    if (options->modes)
      return troupe::simulation::mode_program{*options}.run();
    return troupe::simulation::program{*options}.run();
  } catch (const std::runtime_error& problem) {
    std::fprintf(stderr, "troupe_simulation: %s\n", problem.what());
    return 1;
  }
}
