// Who owns what in a cluster view: how a term begins, and what changes within it.
//
// A term begins with everything placed anew. Within it spans stay, and slices move as little as
// balance allows: a spare takes over the range of one that is gone; only when no spare is left, or
// somebody has two slices more than another, are all slices cut anew. Moving one is always safe, a
// gradient has the same bits wherever it is computed, but its owner may have begun with it.

#pragma once

#include "troupe/coordinators/membership/cluster_view.hpp"

#include <vector>

namespace troupe {

/// What a term begins with; `id` and `start_version` are left to the caller. Shards are taken in
/// order of members until the blocks run out, so that a small model makes few members precious.
cluster_view place_anew(std::vector<member> members, size_t slice_count, size_t parameter_count);

/// The same term with other members, the number one higher. Every member that holds spans must be
/// among them.
cluster_view place_again(const cluster_view& before, std::vector<member> members,
                         size_t slice_count);

} // namespace troupe
