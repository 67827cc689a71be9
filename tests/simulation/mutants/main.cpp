// troupe_mutants: puts each mutant in force, and runs seeds until one of them violates something.
//
//   troupe_mutants --seeds A..B [--table] [NAME]...
//
// All mutants, or those that are named; fewer than 1,000 seeds are for those that few seeds find.
// Each mutant has a process of its own, which may crash or hang: that is found too. With --table
// prints rows for docs/mutants.md. Exit code 1 when a mutant survived that should be found, or is
// stale; 2 for wrong options.

#include "tests/simulation/dice.hpp"
#include "tests/simulation/mode_trial.hpp"
#include "tests/simulation/mutants/mutant.hpp"
#include "tests/simulation/mutants/mutant_in_force.hpp"
#include "tests/simulation/trial.hpp"
#include "tests/simulation/world.hpp"
#include "tests/support/walk/client_walk.hpp"
#include "tests/support/walk/partition_walk.hpp"
#include "tests/support/walk/private_walk.hpp"
#include "tests/support/walk/tile_walk.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace troupe::simulation {

namespace {

/// From so many seeds on, rare ones must be found too.
constexpr uint64_t seeds_for_rare_ones = 1000;
/// No seed takes a second; whoever is at one for so long will not end.
constexpr unsigned seconds_per_seed_max = 20;

struct command_line {
  seed_range seeds;
  bool as_table = false;
  std::vector<std::string> names; ///< none: all
};

std::optional<command_line> read_command_line(int count, char** words) {
  command_line result;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--table") {
      result.as_table = true;
    } else if (word == "--seeds" && i + 1 < count) {
      const auto seeds = read_seeds(words[++i]);
      if (!seeds)
        return std::nullopt;
      result.seeds = *seeds;
    } else if (std::ranges::find(mutants(), word, &mutant::name) != mutants().end()) {
      result.names.push_back(word);
    } else {
      return std::nullopt;
    }
  }
  if (result.seeds.first == result.seeds.last)
    return std::nullopt;
  return result;
}

/// What a mutant's process says, in memory that it shares.
struct verdict {
  uint64_t seed = 0; ///< that runs, or that found it
  bool found = false;
  char workload[32] = "";
  char violation[160] = "";
};

class program {
public:
  explicit program(command_line options)
    : options_(std::move(options)),
      shared_(static_cast<verdict*>(mmap(nullptr, sizeof(verdict), PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    for (const auto& what : workloads())
      prepared_.push_back(prepare(system_.get(), what));
    for (const auto& what : mode_workloads())
      prepared_modes_.push_back(prepare(system_.get(), what));
  }

  int run() {
    for (size_t i = 0; i < mutants().size(); ++i)
      if (is_asked_for(mutants()[i]))
        try_mutant(i);
    if (!options_.as_table)
      std::printf("%zu mutants, %zu found, %zu otherwise than expected\n", tried_, found_,
                  unexpected_);
    return unexpected_ == 0 && tried_ > 0 ? 0 : 1;
  }

private:
  /// Few seeds are for those that few seeds find.
  bool is_asked_for(const mutant& what) const {
    if (!options_.names.empty())
      return std::ranges::find(options_.names, what.name) != options_.names.end();
    return what.expect == expectation::found || has_many_seeds();
  }

  bool has_many_seeds() const {
    return options_.seeds.last - options_.seeds.first >= seeds_for_rare_ones;
  }

  void try_mutant(size_t index) {
    const auto& what = mutants()[index];
    ++tried_;
    if (!what.stale.empty()) {
      ++unexpected_;
      std::printf("%-36s STALE: %s\n", what.name.c_str(), what.stale.c_str());
      return;
    }
    *shared_ = {};
    std::fflush(stdout);
    const auto child = fork();
    if (child == 0) {
      mutant_in_force = static_cast<int>(index);
      run_trials(what.of);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      shared_->found = true;
      const auto* why = WTERMSIG(status) == SIGALRM ? "it does not end" : "it crashes";
      std::snprintf(shared_->violation, sizeof(shared_->violation), "%s", why);
    }
    tell(what);
  }

  // In a process of its own.
  void run_trials(trial_kind of) {
    if (of == trial_kind::modes)
      run_modes();
    else if (of == trial_kind::tiles)
      run_walks<test::tile_walk>("tiles");
    else if (of == trial_kind::partitions)
      run_walks<test::partition_walk>("partitions");
    else if (of == trial_kind::clients)
      run_walks<test::client_walk>("clients");
    else if (of == trial_kind::privacy)
      run_walks<test::private_walk>("private");
    else
      run_seeds(of == trial_kind::kept        ? workload_set::kept
                : of == trial_kind::federated ? workload_set::federated
                : of == trial_kind::home      ? workload_set::home
                : of == trial_kind::spans     ? workload_set::spans
                : of == trial_kind::split     ? workload_set::split
                                              : workload_set::whole,
                of == trial_kind::notice);
  }

  void run_seeds(workload_set set, bool has_notices) {
    for (auto seed = options_.seeds.first; seed < options_.seeds.last; ++seed) {
      shared_->seed = seed;
      alarm(seconds_per_seed_max);
      const auto index = workload_of(seed, set);
      note_workload(workloads()[index].name);
      if (note(
            run_trial(system_.get(), prepared_[index], {seed, {}, false, has_notices}).violations))
        return;
    }
  }

  void run_modes() {
    for (auto seed = options_.seeds.first; seed < options_.seeds.last; ++seed)
      for (const auto& what : prepared_modes_) {
        shared_->seed = seed;
        alarm(seconds_per_seed_max);
        note_workload(what.what->name);
        if (note(run_trial(system_.get(), what, seed).violations))
          return;
      }
  }

  template <class Walk>
  void run_walks(const char* name) {
    note_workload(name);
    for (auto seed = options_.seeds.first; seed < options_.seeds.last; ++seed) {
      shared_->seed = seed;
      alarm(seconds_per_seed_max);
      if (note(Walk{seed}.run()))
        return;
    }
  }

  void note_workload(const std::string& name) {
    std::snprintf(shared_->workload, sizeof(shared_->workload), "%s", name.c_str());
  }

  /// True when the mutant is found.
  bool note(const std::vector<std::string>& violations) {
    return !violations.empty() && note(violations.front());
  }

  bool note(std::string text) {
    if (text.empty())
      return false;
    std::ranges::replace(text, '\n', ' ');
    std::snprintf(shared_->violation, sizeof(shared_->violation), "%s", text.c_str());
    shared_->found = true;
    return true;
  }

  bool is_expected(const mutant& what) const {
    if (what.expect == expectation::unseen)
      return true;
    return shared_->found || (what.expect == expectation::rare && !has_many_seeds());
  }

  void tell(const mutant& what) {
    found_ += shared_->found ? 1 : 0;
    unexpected_ += is_expected(what) ? 0 : 1;
    const std::string workload = shared_->workload;
    if (options_.as_table && shared_->found)
      std::printf("| `%s` | %s | %s | %llu | |\n", what.name.c_str(), what.what.c_str(),
                  workload.c_str(), static_cast<unsigned long long>(shared_->seed));
    else if (options_.as_table)
      std::printf("| `%s` | %s | | none | %s |\n", what.name.c_str(), what.what.c_str(),
                  what.why.c_str());
    else if (shared_->found)
      std::printf("%-36s seed %llu, %s: %s%s\n", what.name.c_str(),
                  static_cast<unsigned long long>(shared_->seed), workload.c_str(),
                  shared_->violation, is_expected(what) ? "" : " (UNEXPECTED)");
    else
      std::printf("%-36s survives%s\n", what.name.c_str(),
                  is_expected(what) ? "" : " (UNEXPECTED)");
  }

  command_line options_;
  verdict* shared_;
  testing_system system_;
  std::vector<prepared_workload> prepared_;
  std::vector<prepared_mode> prepared_modes_;
  size_t tried_ = 0;
  size_t found_ = 0;
  size_t unexpected_ = 0;
};

} // namespace

} // namespace troupe::simulation

int main(int count, char** words) {
  const auto options = troupe::simulation::read_command_line(count, words);
  if (!options) {
    std::fprintf(stderr, "usage: troupe_mutants --seeds A..B [--table] [NAME]...\n");
    return 2;
  }
  return troupe::simulation::program{*options}.run();
}
