// A company: the actors of one training run, spawned and wired in the application's actor system.
//
//   director (a thread of its own) ==> writer of checkpoints (likewise, if there are any)
//      | cluster view, directive
//   node
//      | view, horizon
//      +--> replica 0 .. R-1   compute slices     (the scheduler's threads)
//      +--> shard 0 .. K-1     add and update     (the scheduler's threads)
//
// If the job's optimizer is a solver, one actor replaces all replicas and shards
// (actors/step/solver.hpp).
//
// `train` makes one, watches it and takes it apart. Use it directly to hold the director's handle:
// to subscribe, to ask for its status, to publish it to other systems, or to stop it.

#pragma once

#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "actors/run/configure.hpp"
#include "actors/run/process.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/records/run_recorder.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/network/model.hpp"

#include <caf/fwd.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace troupe {

class checkpoint_store;
struct test_hooks; // actors/base/test_hooks.hpp

struct company_options {
  /// Shards to spawn; absent: one for each scheduler thread, at most one for each block.
  std::optional<size_t> shard_count;
  /// The director and the writer run on threads of their own; deterministic tests turn this off.
  bool director_detached = true;
  std::shared_ptr<test_hooks> hooks;   ///< for tests; null: none
  std::shared_ptr<run_recorder> trace; ///< of the timeline; null: none is wanted
  /// Receives a checkpoint every `job.checkpoint.every_steps` steps, and of the version at which a stop ended
  /// training; null: none are written.
  std::shared_ptr<checkpoint_store> checkpoints;
  /// A checkpoint of this job to resume from; nothing: train from the beginning.
  std::optional<checkpoint> resume_from;
  sequence_options decisions; ///< as in train_options
};

class company {
public:
  /// Spawns all actors of a resolved job. Training begins when the caller sends `begin` to the
  /// director. Throws failure(internal) when the system lacks Troupe's message types.
  company(caf::actor_system& system, const job& resolved, std::shared_ptr<const prepared_data> data,
          const company_options& options = {});

  /// Ends all actors.
  ~company();
  company(const company&) = delete;
  company& operator=(const company&) = delete;

  const director_actor& director() const { return director_; }
  /// Replicas, trainers, or a solver.
  const std::vector<worker_actor>& replicas() const { return process_->actors().workers; }
  const model& network() const { return process_->network(); }
  /// The parameter server (coordinators/job/training_modes.hpp); null where shards own the
  /// parameters.
  const server_actor& server() const { return process_->actors().server; }
  const local_node_actor& node() const { return process_->node(); }

  /// Parameter and gradient buffers made so far: constant once steps are in their steady state.
  size_t buffers_made() const { return process_->buffers_made(); }

private:
  std::unique_ptr<process> process_;
  director_actor director_;
  checkpoint_writer_actor writer_; ///< the destructor waits for its end; null: for none
};

} // namespace troupe
