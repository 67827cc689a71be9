// The addresses of a cluster whose processes `troupe launch` starts. The launcher binds each node's socket before the
// node runs: so it can give all nodes real ports, and no other program can take one. Until the node is ready and
// listens, its socket refuses connections, as an absent node would. Also: where to ask the director of a running
// cluster.

#pragma once

#include "actors/net/gate/visitor.hpp"
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

// Asks the director of the cluster that a file describes how training goes: where it is, and what
// the connection is secured with.

/// The TLS files to ask a secured cluster with; empty: those of a node whose key this process can read.
struct visit_files {
  std::string certificate;
  std::string key;
};

/// The status as ask_for_status gives it. Throws as that does, and when the director has not said
/// yet where it listens.
std::string status_of(const loaded_cluster& cluster, const visit_files& files);

/// Where the director of a running cluster can be asked, when only it knows: with port 0 `troupe launch`
/// takes any free one. The director's process writes its address into a file of the run directory. The file
/// lasts as long as this lives. One that a director which was killed has left is replaced.
class told_address {
public:
  /// `directory` is there. Throws failure when the file cannot be written.
  told_address(const std::string& directory, const std::string& address);
  ~told_address();
  told_address(const told_address&) = delete;
  told_address& operator=(const told_address&) = delete;

private:
  std::string path_;
};

} // namespace troupe
