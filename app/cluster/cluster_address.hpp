// The addresses of a cluster whose processes `troupe launch` starts: each node's socket is bound
// before the node runs, so that everybody can be told real ports, and nobody else can take one.
//
// A bound socket that does not listen yet refuses connections, as a node that is not there would;
// the node listens when it is ready.

#pragma once

#include "app/cluster/cluster_file.hpp"

#include <string>
#include <vector>

namespace troupe {

/// The sockets of all nodes, in their order; closed at the end.
class bound_sockets {
public:
  /// Binds a socket for each node to its `listen`, and writes the picked ports into `plan`.
  /// `places` are the nodes' for messages.
  ///
  /// Throws failure: cannot_create when an address is in use, no_permission when it may not be
  /// bound, missing_input when its host is unknown or another machine's.
  bound_sockets(cluster_plan& plan, const std::vector<std::string>& places);
  ~bound_sockets();
  bound_sockets(const bound_sockets&) = delete;
  bound_sockets& operator=(const bound_sockets&) = delete;

  int descriptor(size_t node) const { return descriptors_[node]; }
  /// Once the nodes have them: an address is then free again when its node has ended.
  void close_all();

private:
  std::vector<int> descriptors_;
};

/// "NAME=HOST:PORT", as `--address` of `troupe node` takes it.
std::string address_option(const cluster_node& node);

/// Writes addresses given on the command line into the plan. Throws failure(usage) when one is not
/// of that form or names no node.
void apply_addresses(cluster_plan& plan, const std::vector<std::string>& addresses);

} // namespace troupe
