// Loss against time in each mode of training when one replica is slower than the others, in virtual
// time, for benchmarks/modes_plot.py.
//
//   slow_replica JOB.toml FACTOR [a.b=value]...
//
// Trains with four replicas on one thread; the first needs FACTOR times as long for a row as the
// others, which need 10 us. Prints "mode,seconds,test loss" for each row of each history. Virtual
// time is the same wherever and however often it runs: adding, updating and evaluating take none.

#include "app/job/job_file.hpp"
#include "coordinators/job/resolve.hpp"
#include "tests/simulation/mode_trial.hpp"
#include "tests/simulation/world.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace troupe;

struct mode {
  const char* name;
  std::vector<std::string> sets;
};

const std::vector<mode> modes{
  {"synchronous", {"training.slices=4"}},
  {"asynchronous", {"training.slices=1", "training.consistency=asynchronous"}},
  {"staleness 16", {"training.slices=1", "training.consistency={ staleness = 16 }"}},
  {"first 3 of 4", {"training.slices=1", "training.consistency={ first = 3 }"}},
  {"local rounds of 5",
   {"training.slices=4", "training.strategy=parameters", "training.local_steps=5"}}};

void print_curve(caf::actor_system& system, const mode& what, const job& x, int factor) {
  constexpr simulation::duration row = std::chrono::microseconds{10};
  const auto run = simulation::train_timed(system, x, {factor * row, row, row, row});
  for (const auto& point : run.finished.history)
    if (point.test_loss)
      std::printf("%s,%.6f,%.6f\n", what.name, point.seconds, *point.test_loss);
}

} // namespace

int main(int count, char** words) {
  int factor = 0;
  if (count >= 3)
    std::from_chars(words[2], words[2] + std::string{words[2]}.size(), factor);
  if (factor < 1) {
    std::fprintf(stderr, "usage: slow_replica JOB.toml FACTOR [a.b=value]...\n");
    return 2;
  }
  troupe::simulation::testing_system system;
  try {
    for (const auto& what : modes) {
      std::vector<std::string> sets{words + 3, words + count};
      sets.push_back("training.replicas=4");
      sets.insert(sets.end(), what.sets.begin(), what.sets.end());
      print_curve(system.get(), what, troupe::load_job(words[1], sets, {}), factor);
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "slow_replica: %s\n", problem.what());
    return 1;
  }
}
