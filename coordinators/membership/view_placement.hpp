// Who owns what in a cluster view: how a term begins, and what changes within it.
//
// A term begins with everything placed anew. Within it spans stay, and slices move as little as
// balance allows: a spare takes over the range of one that is gone; only when no spare is left, or
// somebody has two slices more than another, are all slices cut anew. Moving one is always safe, a
// gradient has the same bits wherever it is computed, but its owner may have begun with it. Where a
// model is split, slices are those of groups: in order of members, replicas are the ranks of the grid
// (grid.hpp) when a term begins, as many groups of them as are whole, the rest are spares; within it
// groups are mended (view_placement.cpp).

#pragma once

#include "troupe/coordinators/membership/cluster_view.hpp"
#include "troupe/coordinators/parallel/model_split.hpp"

#include <vector>

namespace troupe {

/// Replicas of these members.
size_t replicas_of(const std::vector<member>& members);

/// False when these members have fewer replicas than a split model has portions: then no view of them
/// can be placed.
bool makes_group(const model_split& split, const std::vector<member>& members);

/// What a term begins with; `id` and `start_version` are left to the caller. Shards are taken in
/// order of members until the blocks run out, so that a small model makes few members precious.
cluster_view place_anew(std::vector<member> members, size_t slice_count, size_t parameter_count,
                        const model_split& split = {});

/// The same term with other members, the number one higher. Every member that holds spans must be
/// among them.
cluster_view place_again(const cluster_view& before, std::vector<member> members,
                         size_t slice_count, const model_split& split = {});

} // namespace troupe
