// Training in one call: `train(system, job)` starts a company of actors in the application's own
// actor system, waits for its end, and returns the trained model. `company` does the same in steps, for applications
// that want to observe, query or stop a run.
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
#include "data/records/sequence_file.hpp"

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
  /// Called with the status once a second, and at the end, on the thread that waits.
  std::function<void(const training_status&)> on_status;
  /// Called about ten times a second, on the thread that waits. True stops training at a version.
  std::function<bool()> stop_requested;
  /// Receives a checkpoint every `job.checkpoint.every_steps` steps, and of the version at which a stop ended
  /// training; null: none are written.
  std::shared_ptr<checkpoint_store> checkpoints;
  /// A checkpoint of this job to resume from; nothing: train from the beginning.
  std::optional<checkpoint> resume_from;
  std::shared_ptr<run_recorder> trace; ///< of the timeline; null: none is wanted
  /// Of a run whose bits depend on the order of messages: a file that its decisions go to; or the decisions of such a
  /// run of the same job on the same data, which this one repeats, bit for bit.
  sequence_options decisions;
};

/// Trains `x` on the threads of `system` and waits for the end. `train` ignores `x.runtime`, which is for the command:
/// the host's system has its own settings.
///
/// It blocks the calling thread: the application's own, or a detached actor's, but none of the scheduler's. Several
/// threads may train in one system at a time.
///
/// Throws failure: bad_job with every problem of the job; what reading its data throws; internal when `configure` was
/// not called, when the thread is one of the scheduler's, or when an actor failed. A run that diverges returns its last
/// finite parameters and sets `problem`.
training_result train(caf::actor_system& system, const job& x, const train_options& options = {});

/// The same on data already in memory.
training_result train(caf::actor_system& system, const job& x,
                      std::shared_ptr<const prepared_data> data, const train_options& options = {});

/// The same in an actor system of its own, which lives as long as the call and has the threads that the job can use.
training_result train(const job& x, std::shared_ptr<const prepared_data> data,
                      const train_options& options = {});

} // namespace troupe
