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

#include "actors/protocol/interfaces.hpp"
#include "actors/run/configure.hpp"
#include "coordinators/job/job.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/records/sequence_file.hpp"

#include <caf/actor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class checkpoint_store; // data/checkpoint/checkpoint_store.hpp
class model;            // models/network/model.hpp
class process;          // actors/run/process.hpp
class run_recorder;     // data/records/run_recorder.hpp
struct prepared_data;   // data/training_rows/prepare.hpp
struct test_hooks;      // actors/base/test_hooks.hpp

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
  const std::vector<worker_actor>& replicas() const;
  const model& network() const;
  /// The parameter server (coordinators/job/training_modes.hpp); null where shards own the
  /// parameters.
  const server_actor& server() const;
  const local_node_actor& node() const;

  /// Tells clients that dialled in to a federated run that it is over: an exit code for them, and why.
  void end_clients(int code, const std::string& why) const;

  /// Parameter and gradient buffers made so far: constant once steps are in their steady state.
  size_t buffers_made() const;

private:
  std::unique_ptr<process> process_;
  director_actor director_;
  caf::actor writer_; ///< the destructor waits for its end; null: for none
};

} // namespace troupe
