// The plan of a run: which process has which replicas and spans, how many bytes each holds for what,
// what they send each other a step, how evenly they work. It follows from the job, the shape of its data
// and the nodes of a cluster file. So the command can print it before the run and refuse what does not
// fit. Tests compare it with real counts.
//
// group_plan.hpp plans each replica, process_plan.hpp each process.

#pragma once

#include "coordinators/job/resolve.hpp"
#include "coordinators/parallel/process_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct parallel_plan {
  struct segment_plan {
    index_range layers;
    std::vector<layer_cut> cuts; ///< of each
    size_t width = 0;            ///< units behind it
    double share = 0;            ///< of the work
  };

  std::vector<size_t> widths; ///< features, hidden units, outputs
  size_t parameter_count = 0;
  size_t part_count = 1;
  std::vector<segment_plan> segments;
  grid_shape shape;                    ///< groups that have slices, replicas of a stage, stages
  size_t slice_count = 1;              ///< of a step, those with rows
  std::vector<replica_plan> replicas;  ///< by rank: groups one behind the other, then spares
  std::vector<link_plan> links;        ///< between ranks
  std::vector<process_plan> processes; ///< in order of the nodes
  std::vector<process_link_plan> process_links; ///< between these
  std::vector<double> stage_shares;             ///< of a group's work
  double imbalance = 1; ///< work of the replica that has most, divided by the mean
  /// (P - 1) / (M + P - 1) of P stages and M slices, the fewest of a group: the share of a step in
  /// which stages wait if all are alike.
  double bubble = 0;
  std::vector<std::string> warnings;
};

struct plan_options {
  size_t core_count = 1;                ///< of this machine
  std::vector<cluster_node> nodes = {}; ///< none: one process with all replicas
  cluster_recovery recovery = {};
};

/// Of a resolved job without problems, whose replicas train in step, and its model.
parallel_plan plan_of(const job& resolved, const data_shape& shape, const model& network,
                      const plan_options& options);

/// What the processes of any job need, also of one whose replicas have whole models each: one that a
/// parameter server leads, or a solver.
std::vector<process_plan> memory_plan_of(const job& resolved, const data_shape& shape,
                                         const plan_options& options);

// Memory check: whether the processes of a run have the memory that its plan says they take. It runs
// before anything is allocated. It compares the need of this process with what it may still take, and
// every node's with what the cluster file states.

/// Where a job is to be trained.
struct run_place {
  cluster_plan cluster;          ///< without nodes: one process does all
  std::optional<size_t> own = 0; ///< this process's node; nothing: it is none of them
  /// All nodes are on this machine, and this process checks for all of them.
  bool has_all_nodes = false;
  /// Threads that are yet to begin, and take address space.
  std::optional<size_t> new_threads = {};
};

/// The place of the node with this name, or the first.
run_place place_in(const cluster_plan& cluster, const std::string& own_name);

/// What the replicas of this process ask of its devices.
device_load device_load_of(const job& resolved, const data_shape& shape, const run_place& where);

/// What this process may still take, in bytes.
struct memory_room {
  uint64_t machine = 0;
  uint64_t groups = 0; ///< its control groups leave it
  uint64_t address_space = 0;
};

/// The problem of a job whose need is too large to count.
std::optional<job_problem> countless_problem(const job& resolved, const data_shape& shape,
                                             const memory_room& room);

/// `processes`: of the nodes, or the one (memory_plan_of).
std::optional<job_problem> memory_problem(const std::vector<process_plan>& processes,
                                          const run_place& where, const memory_room& room);

} // namespace troupe
