// Asks the director of the cluster that a file describes how training goes: where it is, and what
// the connection is secured with.

#pragma once

#include "actors/net/gate/visitor.hpp"
#include "app/cluster/cluster_file.hpp"

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
