// Which node of a cluster a process is, and whether it can be that one.

#pragma once

#include "app/cluster/cluster_file.hpp"
#include "app/toml/override.hpp"
#include "data/identity/certificate.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace troupe {

/// Which of many equal processes this one is, when something else started them all: MPI's mpirun, Slurm's srun, a
/// Kubernetes StatefulSet. Each gives the process's number, counted from 0, in the environment. `troupe node` without
/// --name takes the node at this place of the cluster file.
struct node_rank {
  size_t index = 0;
  std::string variable; ///< that said so, for messages

  friend bool operator==(const node_rank&, const node_rank&) = default;
};

/// The number of this process, from the first of these variables that is set; nothing when none is:
///
///   TROUPE_NODE_INDEX              for starters that set none of the others
///   TROUPE_NODE_FROM_HOSTNAME=1    the N of a machine (`host`) called NAME-N, as pods are
///   OMPI_COMM_WORLD_RANK           Open MPI; before Slurm's, which is 0 for all that a batch
///                                  script starts by mpirun
///   PMI_RANK                       MPICH, Intel MPI
///   SLURM_PROCID                   srun
///
/// Throws failure(usage) when a variable is set and holds no such number.
std::optional<node_rank> find_rank(const environment& variables, const std::string& host);

/// The name of the node that this process is: `name`; else that of the node at the place of `rank`; without
/// a rank: this machine's (`host`, its domain left out). Where a cluster lets others join it may be one that the file does
/// not list: a rank behind all nodes gives "join-RANK", and a host with a name that no node may have "join-" and digits.
/// Else throws failure(usage) with the names there are, or the closest one.
std::string choose_name(const cluster_plan& plan, const std::string& name, const std::string& host,
                        const std::optional<node_rank>& rank = {});

/// Index of the node of this name; one that the file does not list is added, with what [join] says.
size_t take_node(loaded_cluster& cluster, const std::string& name);

/// The index of the node that this process is, from both.
size_t choose_node(loaded_cluster& cluster, const std::string& name, const std::string& host,
                   const std::optional<node_rank>& rank = {});

/// Nodes that are started one by one cannot pick ports: the others would not know them. Throws
/// job_errors with the place of every address that has none.
void expect_ports(const loaded_cluster& cluster);

/// What a node secures its connections with; nothing when the file has no [tls].
std::optional<tls_files> tls_of(const loaded_cluster& cluster, size_t node);

/// The same, once it is known that the files fit: before anything else begins. Throws as load_tls
/// (actors/net/socket/tls_identity.hpp).
std::optional<tls_files> checked_tls_of(const loaded_cluster& cluster, size_t node);

/// The warning that a node gives when strangers can reach its cluster and nothing is secured.
std::string insecure_warning(const std::string& file);

/// The name of this machine.
std::string host_name();

} // namespace troupe
