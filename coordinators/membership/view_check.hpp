// View check: whether a cluster view that came over a wire can be followed here.
//
// A view names replicas, shards, slices and blocks by index. Two processes that were started with
// different cluster files agree on names and mean different things by them; so nothing of a view is
// used before it is known to be about this process as it is. Where a view splits the model, each group
// must be whole: its replicas, those with the same slices, carry every part of every segment once.

#pragma once

#include "troupe/coordinators/membership/cluster_view.hpp"

#include <string>

namespace troupe {

/// What a process has, and what the job allows.
struct view_limits {
  std::string self;
  size_t replica_count = 0;
  size_t shard_count = 0;
  size_t slice_count = 0; ///< of the job; 0: a keeper's, whose views give each replica a part
  size_t parameter_count = 0;
  uint64_t last_version = 0;
  size_t segment_count = 0; ///< of the model; 0: replicas here carry whole models only
  size_t part_count = 0;
};

/// Why the view cannot be followed, in words; empty: it can.
std::string misfit_of(const cluster_view& x, const view_limits& here);

} // namespace troupe
