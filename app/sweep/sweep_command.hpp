// `troupe sweep`: what was given to it, and its command line.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe {

struct sweep_arguments {
  std::string job_file;
  std::vector<std::string> sets;
  std::vector<std::string> grids;   ///< "a.b=1,2"
  std::vector<std::string> randoms; ///< "a.b=1e-4..1e-1:log:8"
  uint64_t seed = 0;                ///< of the draws
  size_t halving = 0; ///< one of so many trials goes on at a rung; 0: all are trained in full
  size_t folds = 0;   ///< runs of each setting, one for each fold; 0: one
  size_t slots = 0;   ///< trials at once; 0: one a core
  std::string folder; ///< empty: runs/JOB-sweep
  bool json = false;
  bool quiet = false;
  bool resume = false;
  bool overwrite = false;
};

/// Trains a job once for each choice of values, as many at a time as there are cores, and tells which was
/// best. 0 when at least one trial has a loss, else 1; 130 or 143 when a signal stopped it: --resume goes on.
int sweep_command(const sweep_arguments& arguments);

/// Adds the command to `app`; when it is called it puts itself into `chosen`.
void add_sweep(CLI::App& app, sweep_arguments& x, std::function<int()>& chosen);

} // namespace troupe
