// Local actors: what the replicas and shards of this process are told of the cluster. To a replica
// the node looks like the remote shards, to a shard like the remote replicas.

#pragma once

#include "actors/node/local_spans.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

class local_actors {
public:
  local_actors(node_context& context, const local_spans& spans)
    : context_(context), spans_(spans), restarts_(context.local.workers.size()) {}

  /// The context's view, as one of local actors; replicas begin at this version when they are new.
  void tell_replicas(uint64_t start_version);
  void tell_shards();
  /// Out: local replicas get no slices.
  void tell_to_rest();
  /// The next view makes them begin anew.
  void restart_replicas();
  void restart_replica(size_t index) { ++restarts_[index]; }
  /// Replicas know the version to start from; before that they answer nothing.
  bool have_begun() const { return have_begun_; }
  void set_begun(bool x) { have_begun_ = x; }

private:
  view local_view(uint64_t start_version) const;

  node_context& context_;
  const local_spans& spans_;
  std::vector<uint64_t> restarts_; ///< of each replica
  bool have_begun_ = false;
};

} // namespace troupe
