// The plan of processes: what each process of a run holds, and what each sends another in a step. It
// follows from the job, the shape of its data, and what each process brings: from a cluster file it is
// the placement that the director begins with.
//
// A process's window has W elements: all where models are whole; else what its replicas read, its shards own, and
// the first element of each other span. Its shards' spans have S, and the optimizer keeps k values for each. One
// gradient is sent as n_g nodes of the tree over slices. The process holds, in bytes,
//
//   parameters    12 W: the version at work, the one before, and the next while it is written; where they
//                 are fetched, the largest segment as often as each replica may have one
//   optimizer     4 k S
//   gradients     of its replicas (group_plan.hpp); where those of several whole models are added
//                 before they are sent, that sum; by segment, those that are on their way
//   sums          what comes in a step, and where segments' sums go one by one what of them is for the
//                 process's own shards; 4 S more where gradients are clipped by their norm, or one rule
//                 looks at the whole model
//   checkpoints   12 k S + 8 W: two copies that may be asked for, and one in the making
//   process       the program, what links take, and at most a link's credit of what is under way to and
//                 from each other process
//
// and sends, of each other process,
//
//   gradients     4 n_g (2 where they are rounded to bf16) for each element of its tiles in the other's spans
//   parameters    4 for each element of its spans in the other's window
//   fetched       4 for each element of its spans that a replica there fetches, as often as it does; those
//                 of one process may share what they fetch
//
// A process that computes needs each version announced; one that does not needs none.

#pragma once

#include "coordinators/job/memory_need.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/parallel/group_plan.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/device/on_devices.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct process_plan {
  std::string name;
  std::vector<size_t> replicas;   ///< ranks
  std::vector<index_range> spans; ///< elements, of each of its shards
  uint64_t window = 0;            ///< elements
  memory_need memory;
  std::optional<uint64_t> limit; ///< bytes it is stated to have
  device_load on_devices = {};   ///< where its replicas compute on some

  /// Elements.
  uint64_t owned() const;
  bool is_idle() const { return replicas.empty() && spans.empty(); }
};

/// What a node's replicas compute on, in the words of runtime.device.
const std::string& device_choice(const job& resolved, const cluster_node& node);

/// What a node's replicas, each with a whole model, ask of its devices: rows of a slice, or of a chunk of an evaluation,
/// and gradients that wait for others to be added to; trainers have two models' memory each.
device_load load_of_whole_models(const job& resolved, const cluster_node& node,
                                 const data_shape& shape);

/// What one process sends another in a step.
struct process_link_plan {
  size_t from = 0;
  size_t to = 0;
  uint64_t gradients = 0;
  uint64_t parameters = 0;
  std::array<uint64_t, 3> boundaries{}; ///< by boundary_way
  uint64_t block_sums = 0; ///< numbers of blocks, where a step needs sums over the model
  uint64_t fetched = 0;    ///< parameters, segment by segment

  uint64_t sum() const {
    return gradients + parameters + boundaries[0] + boundaries[1] + boundaries[2] + block_sums +
           fetched;
  }
};

/// What a run's replicas do, as far as their processes' memory and links depend on it.
struct process_work {
  const job& resolved;
  const model& network;
  const data_shape& shape;
  const cluster_view& view;                  ///< placed
  const std::vector<cluster_node>& nodes;    ///< its members
  const std::vector<replica_plan>& replicas; ///< by rank
  const std::vector<link_plan>& boundaries;  ///< between processes
};

struct processes_plan {
  std::vector<process_plan> processes; ///< in order of the nodes
  std::vector<process_link_plan> links;
};

processes_plan plan_processes(const process_work& work);

} // namespace troupe
