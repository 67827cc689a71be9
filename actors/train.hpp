// Training in one call: `train(system, job)` starts a company of actors in the application's own
// actor system, waits for its end, and returns what it learned. `company` is the same in steps, for
// applications that want to watch, ask or stop while it runs.
//
//   caf::actor_system_config config;
//   troupe::configure(config);           // adds Troupe's message types
//   caf::actor_system system{config};
//   troupe::job job;
//   job.data.file = "digits.csv.gz";
//   job.model.hidden = {64};
//   auto result = troupe::train(system, job);

#pragma once

#include "troupe/coordinators/job.hpp"
#include "troupe/data/checkpoint.hpp"
#include "troupe/data/dataset.hpp"
#include "troupe/data/training_record.hpp"
#include "troupe/models/buffer.hpp"
#include "troupe/models/parameter_layout.hpp"

#include <caf/fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class checkpoint_store; // data/checkpoint_store.hpp
struct prepared_data;   // data/prepare.hpp

/// Where a run stands; sent to observers a few times a second and at the end of each epoch.
struct training_progress {
  size_t epoch = 1; ///< the epoch being trained, counted from 1
  size_t epochs = 0;
  uint64_t step = 0; ///< steps done in this epoch
  uint64_t steps_in_epoch = 0;
  uint64_t version = 0; ///< steps done in all
  double seconds = 0;   ///< since training started
  double seconds_of_epoch = 0;
  double train_loss = 0; ///< mean so far in this epoch
  std::optional<double> train_accuracy;
  std::optional<history_row> finished_epoch; ///< set at the end of an epoch, evaluation included
  /// A line for people: who is waited for while the run stands still, or who takes part from now
  /// on. Everything else is then as it was told before.
  std::string notice{};

  friend bool operator==(const training_progress&, const training_progress&) = default;
};

struct training_result {
  job resolved; ///< the job as it was trained: every optional field filled in
  std::shared_ptr<const prepared_data> data;
  parameter_layout layout;
  const_buffer parameters;
  std::vector<history_row> history;
  training_summary summary; ///< without the model file's path
  /// Set when training ended early and badly (diverged); `parameters` are the best ones if a best
  /// version is kept, else the last finite ones.
  std::optional<std::string> problem;
  /// Who computed, waited and came late, as a table for people; empty where nobody waits: for
  /// solvers.
  std::string statistics{};
};

struct train_options {
  /// Called with each progress message, on the thread that waits.
  std::function<void(const training_progress&)> on_progress;
  /// Asked about ten times a second, on the thread that waits: true stops training at a version.
  std::function<bool()> stop_requested;
  /// Where checkpoints go, every `job.checkpoint.every_steps` steps; null: none are written.
  std::shared_ptr<checkpoint_store> checkpoints;
  /// A checkpoint of this job to go on from; nothing: from the beginning.
  std::optional<checkpoint> resume_from;
};

/// Adds Troupe's message types to `config`; call it before making the actor system.
void configure(caf::actor_system_config& config);

/// Trains `x` on the threads of `system` and waits for the end. `x.runtime` is for the command,
/// which makes the system: here the host's own settings stand.
///
/// Throws failure: bad_job with every problem of the job; what reading its data throws; internal
/// when `configure` was not called or an actor failed. A run that diverges returns its last finite
/// parameters and says so in `problem`.
training_result train(caf::actor_system& system, const job& x, const train_options& options = {});

/// The same on data already in memory.
training_result train(caf::actor_system& system, const job& x,
                      std::shared_ptr<const prepared_data> data, const train_options& options = {});

} // namespace troupe
