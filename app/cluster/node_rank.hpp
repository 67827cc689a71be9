// Which of many equal processes this one is, when something else started them all: MPI's mpirun,
// Slurm's srun, a Kubernetes StatefulSet. Each says so in the environment, by a number counted from
// 0, and `troupe node` without --name takes the node that stands at this place of the cluster file.

#pragma once

#include "troupe/app/toml/environment.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace troupe {

struct node_rank {
  size_t index = 0;
  std::string variable; ///< that said so, for messages

  friend bool operator==(const node_rank&, const node_rank&) = default;
};

/// The number of this process; nothing when no variable says one. The first of these that is set:
///
///   TROUPE_NODE_INDEX              for whatever sets none of the others
///   TROUPE_NODE_FROM_HOSTNAME=1    the N of a machine (`host`) called NAME-N, as pods are
///   OMPI_COMM_WORLD_RANK           Open MPI; before Slurm's, which is 0 for all that a batch
///                                  script starts by mpirun
///   PMI_RANK                       MPICH, Intel MPI
///   SLURM_PROCID                   srun
///
/// Throws failure(usage) when a variable is set and holds no such number.
std::optional<node_rank> find_rank(const environment& variables, const std::string& host);

} // namespace troupe
