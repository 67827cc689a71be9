// Training in one call: `train(system, job)` starts a company of actors in the application's own
// actor system, waits for its end, and returns what it learned. `company` is the same in steps, for
// applications that want to watch, ask or stop while it runs.
//
//   caf::actor_system_config config;
//   troupe::configure(config);           // Troupe's message types and scheduler
//   caf::actor_system system{config};
//   troupe::job job;
//   job.data.file = "digits.csv.gz";
//   job.model.hidden = {64};
//   auto result = troupe::train(system, job);

#pragma once

#include "actors/protocol/training_progress.hpp"
#include "actors/run/configure.hpp"
#include "actors/run/training_result.hpp"
#include "coordinators/job/job.hpp"
#include "data/checkpoint/checkpoint.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace troupe {

class checkpoint_store; // data/checkpoint/checkpoint_store.hpp
class run_recorder;     // data/records/run_recorder.hpp
struct training_status; // actors/protocol/status_messages.hpp
struct prepared_data;   // data/training_rows/prepare.hpp

struct train_options {
  /// Called with each progress message, on the thread that waits.
  std::function<void(const training_progress&)> on_progress;
  /// Told once a second, and at the end, how training goes, on the thread that waits.
  std::function<void(const training_status&)> on_status;
  /// Asked about ten times a second, on the thread that waits: true stops training at a version.
  std::function<bool()> stop_requested;
  /// Where checkpoints go, every `job.checkpoint.every_steps` steps; null: none are written.
  std::shared_ptr<checkpoint_store> checkpoints;
  /// A checkpoint of this job to go on from; nothing: from the beginning.
  std::optional<checkpoint> resume_from;
  std::shared_ptr<run_recorder> trace; ///< of the timeline; null: none is wanted
};

/// Trains `x` on the threads of `system` and waits for the end. `x.runtime` is for the command,
/// which makes the system: here the host's own settings stand.
///
/// It holds the calling thread, which may be any but the scheduler's: the application's own, or a detached
/// actor's. Several may train in one system at a time.
///
/// Throws failure: bad_job with every problem of the job; what reading its data throws; internal
/// when `configure` was not called, when the thread is one of the scheduler's, which the run needs, or an actor
/// failed. A run that diverges returns its last finite parameters and says so in `problem`.
training_result train(caf::actor_system& system, const job& x, const train_options& options = {});

/// The same on data already in memory.
training_result train(caf::actor_system& system, const job& x,
                      std::shared_ptr<const prepared_data> data, const train_options& options = {});

} // namespace troupe
