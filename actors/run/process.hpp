// A process's part of a run: its replicas, its shards, and the node that stands between them and
// everybody else.
//
//   director, other nodes <== wire ==> node
//                                        | view, horizon, hold, start
//                                        +--> replica 0 .. R-1   compute slices
//                                        +--> shard 0 .. K-1     add and update
//
// `company` makes one beside a director, all in one process. A networked run has one in each
// process; a simulation has several in one actor system, behind simulated wires.

#pragma once

#include "actors/base/job_rows.hpp"
#include "actors/base/work_gauge.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/interfaces.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "data/records/run_recorder.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/network/model.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace troupe {

struct trainer_options; // actors/orders/trainer.hpp
struct node_options;    // actors/node/node_context.hpp
struct test_hooks;      // actors/base/test_hooks.hpp

/// Tensors of the model's size that a job's optimizer keeps beside the parameters.
size_t slot_count_of(const job& resolved, const parameter_layout& layout);

struct process_options {
  member self; ///< name, incarnation, and how many replicas and shards to spawn
  /// Makes the node; empty: it runs on the system's threads.
  std::function<local_node_actor(const node_options&, const local_company&)> spawn_node = {};
  bool wired = true;             ///< the run has other processes
  uint64_t checkpoint_every = 0; ///< steps between checkpoints; 0: none
  exchange_options exchange;
  node_listeners listeners = {};
  milliseconds lost_patience{0};       ///< how long processes that were lost may take to come back
  std::shared_ptr<test_hooks> hooks;   ///< for tests; null: none
  std::shared_ptr<run_recorder> trace; ///< null: no timeline is wanted
};

class process {
public:
  /// Spawns everybody for a resolved job. Nothing moves before the node is told of a director
  /// (director_link_actor) and the director of the node (member, node_actor).
  process(caf::actor_system& system, const job& resolved, std::shared_ptr<const prepared_data> data,
          const process_options& options);

  /// Ends all its actors.
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  const member& self() const { return self_; }
  const local_node_actor& node() const { return node_; }
  const local_company& actors() const { return local_; }
  const model& network() const { return *network_; }
  const row_namer& rows() const { return rows_; }

  /// Parameter and gradient buffers made so far: constant once steps are in their steady state.
  size_t buffers_made() const { return gradients_->made_count() + parameters_->made_count(); }

private:
  /// Trainers in place of replicas, and where there is to be a shard a parameter server in its place.
  void spawn_trainers(caf::actor_system& system, const job& resolved, trainer_options options,
                      const process_options& given);
  /// Another replica's gauge; null in a process alone, whose work nobody judges.
  std::shared_ptr<work_gauge> new_gauge(const process_options& options);

  member self_;
  std::shared_ptr<const model> network_;
  row_namer rows_;
  std::shared_ptr<buffer_pool> gradients_;
  std::shared_ptr<buffer_pool> parameters_;
  local_company local_;
  local_node_actor node_;
  std::vector<std::shared_ptr<work_gauge>> gauges_; ///< of replicas
};

/// From now on, in this process, products use the instructions that the job asks for. Throws failure(mismatch) when they
/// are not to be had here, and when arithmetic is not what it is everywhere.
void begin_arithmetic(const runtime_options& wanted);

} // namespace troupe
