// Asks the director of the cluster that a file describes how training goes: where it is, and what
// the connection is secured with.

#pragma once

#include "troupe/actors/net/gate/visitor.hpp"
#include "troupe/app/cluster/cluster_file.hpp"

#include <string>

namespace troupe {

/// What to ask a secured cluster with; empty: the files of a node whose key can be read here.
struct visit_files {
  std::string certificate;
  std::string key;
};

/// The status as ask_for_status gives it. Throws as that does, and when the director has not said
/// yet where it listens.
std::string status_of(const loaded_cluster& cluster, const visit_files& files);

} // namespace troupe
