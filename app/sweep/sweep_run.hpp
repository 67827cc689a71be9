// A search that runs: its trials are processes, each a `troupe train` of one thread with a run folder of its own,
// as many at once as there is room for.
//
//   sweep.json   what was asked for: a folder of another search is refused
//   001, 002 ..  run folders as any other; one that is killed is gone on from
//   sweep.csv, curves.svg, best.toml   once all have ended, or were stopped
//
// Processes rather than actors of one system: a trial that runs out of memory takes nobody with it, and what a
// trial leaves can be resumed, compared and shown by every other command.

#pragma once

#include "troupe/app/commands/commands.hpp"
#include "troupe/app/sweep/sweep_results.hpp"

#include <string>
#include <vector>

namespace troupe {

struct sweep_orders {
  std::string job_file;
  std::string folder;
  std::vector<std::string> sets; ///< of all trials
  std::vector<trial_values> trials;
  sweep_shape shape;
  size_t folds = 0; ///< of each setting; 0: a trial is a setting
  size_t slots = 1;
  bool quiet = false;
};

struct sweep_end {
  sweep_outcome outcome;
  int stop_signal = 0; ///< SIGINT or SIGTERM; 0: none came
};

/// Runs what has not run yet. Throws failure(internal) when no process can be started.
sweep_end run_sweep(const sweep_orders& x);

} // namespace troupe
