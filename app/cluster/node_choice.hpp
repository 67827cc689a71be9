// Which node of a cluster a process is, and whether it can be that one.

#pragma once

#include "troupe/app/cluster/cluster_file.hpp"
#include "troupe/app/cluster/node_rank.hpp"
#include "troupe/data/identity/tls_files.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace troupe {

/// Index of the node called `name`; with an empty name of the one at the place of `rank`, and
/// without that of the one that is called as this machine (`host`, its domain left out). Throws
/// failure(usage) with the names there are, or the one that was meant.
size_t choose_node(const cluster_plan& plan, const std::string& name, const std::string& host,
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
