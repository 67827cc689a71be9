// Who owns what in a cluster view: how a term begins, and what changes within it.
//
// A term begins with everything placed anew. Within it spans stay, and slices move as little as
// balance allows: a spare takes over the range of one that is gone; only when no spare is left, or
// somebody has two slices more than another, are all slices cut anew. Moving one is always safe, a
// gradient has the same bits wherever it is computed, but its owner may have begun with it. Where a
// model is split over groups of replicas, all portions are placed anew with each view.

#pragma once

#include "troupe/coordinators/membership/cluster_view.hpp"
#include "troupe/coordinators/parallel/grid.hpp"

#include <vector>

namespace troupe {

/// How a model is split over replicas; as it is by default: not.
struct model_split {
  grid_shape shape;
  size_t part_count = 1;
  std::vector<uint64_t> segment_costs;
  std::vector<size_t> stages;

  friend bool operator==(const model_split&, const model_split&) = default;
};

/// What a term begins with; `id` and `start_version` are left to the caller. Shards are taken in
/// order of members until the blocks run out, so that a small model makes few members precious.
cluster_view place_anew(std::vector<member> members, size_t slice_count, size_t parameter_count,
                        const model_split& split = {});

/// The same term with other members, the number one higher. Every member that holds spans must be
/// among them.
cluster_view place_again(const cluster_view& before, std::vector<member> members,
                         size_t slice_count, const model_split& split = {});

} // namespace troupe
