// A process's part of a run: its replicas, its shards, and the node that connects them with the director and other
// processes.
//
//   director, other nodes <== wire ==> node
//                                        | view, horizon, hold, start
//                                        +--> replica 0 .. R-1   compute slices
//                                        +--> shard 0 .. K-1     add and update
//
// `company` makes one together with a director, in one process. A networked run has one in each process; a simulation
// has several in one actor system, behind simulated wires.

#pragma once

#include "actors/base/job_rows.hpp"
#include "actors/base/work_gauge.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/interfaces.hpp"
#include "coordinators/clients/client_presence.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "data/records/run_recorder.hpp"
#include "data/records/sequence_file.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/device/on_devices.hpp"
#include "models/network/model.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace troupe {

class client_port;      // actors/net/clients/client_port.hpp
struct trainer_options; // actors/tasks/trainer.hpp
struct node_options;    // actors/node/node_context.hpp
struct test_hooks;      // actors/base/test_hooks.hpp

/// Tensors of the model's size that a job's optimizer keeps beside the parameters.
size_t slot_count_of(const job& resolved, const parameter_layout& layout);

struct process_options {
  member self; ///< name, incarnation, and how many replicas and shards to spawn
  /// Makes the node; empty: the node runs on the system's threads.
  std::function<local_node_actor(const node_options&, const local_company&)> spawn_node = {};
  bool wired = true;             ///< the run has other processes
  bool has_server = true;        ///< of a run with a parameter server: it is in this process
  uint64_t checkpoint_every = 0; ///< steps between checkpoints (checkpoint_rule.hpp); 0: none
  exchange_options exchange;
  node_listeners listeners = {};
  milliseconds lost_patience{0};       ///< how long processes that were lost may take to come back
  std::shared_ptr<test_hooks> hooks;   ///< for tests; null: none
  std::shared_ptr<run_recorder> trace; ///< null: no timeline is wanted
  sequence_options decisions;          ///< of the process with the parameter server
  std::string device = "cpu";          ///< that replicas compute on, as runtime.device
  device_load on_devices = {};         ///< what they ask of it
};

class process {
public:
  /// Spawns the process's actors for a resolved job. They start when the caller has sent the node a director
  /// (director_link_actor), and the director the node (member, node_actor).
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

  /// Who has dialled in to a federated run; empty: nobody does.
  std::function<client_presence()> presence_of_clients() const;
  /// Tells clients that dialled in to a federated run that it is over, and how.
  void end_clients(int code, const std::string& why);

  /// Parameter and gradient buffers made so far: constant once steps are in their steady state.
  size_t buffers_made() const { return gradients_->made_count() + parameters_->made_count(); }

private:
  /// Spawns trainers in place of replicas, and a parameter server in place of a shard, if the process has one.
  void spawn_trainers(caf::actor_system& system, const job& resolved, trainer_options options,
                      const process_options& given, const row_holders& holders,
                      const std::vector<holding_size>& sizes);
  /// The gauge of a new replica; null in a run of one process, where no director judges work.
  std::shared_ptr<work_gauge> new_gauge(const process_options& options);

  member self_;
  std::shared_ptr<const model> network_;
  row_namer rows_;
  std::shared_ptr<buffer_pool> gradients_;
  std::shared_ptr<buffer_pool> parameters_;
  std::shared_ptr<client_port> port_; ///< null: no clients dial in
  local_company local_;
  local_node_actor node_;
  std::vector<std::shared_ptr<work_gauge>> gauges_; ///< of replicas
};

/// Makes this process's products use the instructions that the job asks for. Throws failure(mismatch) when this
/// processor lacks them, or computes other bits than the project's arithmetic.
void begin_arithmetic(const runtime_options& wanted);

} // namespace troupe
