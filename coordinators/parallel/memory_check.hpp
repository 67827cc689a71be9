// Memory check: whether the processes of a run have the memory that its plan says they take. Made
// before anything is allocated: the need of this process is compared with what it may still take, that of
// every node with what the cluster file states of it.

#pragma once

#include "coordinators/parallel/parallel_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Where a job is to be trained.
struct run_place {
  cluster_plan cluster;          ///< without nodes: one process does all
  std::optional<size_t> own = 0; ///< this process's node; nothing: it is none of them
  /// All nodes are on this machine, and this is the one that speaks for them.
  bool has_all_nodes = false;
  /// Threads that are yet to begin, and take address space.
  std::optional<size_t> new_threads = {};
};

/// The place of the node with this name, or the first.
run_place place_in(const cluster_plan& cluster, const std::string& own_name);

/// What this process may still take, in bytes.
struct memory_room {
  uint64_t machine = 0;
  uint64_t groups = 0; ///< its control groups leave it
  uint64_t address_space = 0;
};

/// A job whose need cannot be counted, and so is nobody's.
std::optional<job_problem> countless_problem(const job& resolved, const data_shape& shape,
                                             const memory_room& room);

/// `processes`: of the nodes, or the one (memory_plan_of).
std::optional<job_problem> memory_problem(const std::vector<process_plan>& processes,
                                          const run_place& where, const memory_room& room);

} // namespace troupe
