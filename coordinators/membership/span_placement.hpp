// Span placement: which shard owns which blocks of the parameters.
//
// Without more to go by blocks are split evenly, over shards in order of members. Where a model is
// split over replicas, a process contributes gradients of some tiles only: what it owns of these
// stays there. So each gets blocks of its own replicas' tiles, as far as its shards go, each of which
// owns one contiguous span:
//
//   tiles, in order of elements   |   part 0       |   part 1       |c|   c: what parts have in common
//   contributed by                |   a, c         |   b, d         |a|
//   owned by                      | a     | c      | b     | d        |
//
// A shard goes where it saves most: to tiles that nobody owns yet, their size; to those of n owners
// what the largest share shrinks by. Tiles that are left over (the small c above) go to a neighbour.
// When that is much of the model (layers in stages and many parts alternate: a process would need as
// many shards as it has parts), blocks are split evenly after all, and each span is given to whoever
// contributes most of it.

#pragma once

#include "troupe/coordinators/membership/cluster_view.hpp"
#include "troupe/coordinators/parallel/model_split.hpp"

#include <span>
#include <vector>

namespace troupe {

/// Shards in order of members until the blocks run out, so that a small model makes few members
/// precious.
std::vector<shard_place> place_spans_evenly(const std::vector<member>& members,
                                            size_t parameter_count);

/// As above, and so too when a member has shards and no replicas: it serves all alike.
/// `replicas`: with portions of the split model. Who has none of it owns nothing.
std::vector<shard_place> place_spans_near(const std::vector<member>& members,
                                          std::span<const replica_place> replicas,
                                          size_t parameter_count,
                                          std::span<const split_tile> tiles);

} // namespace troupe
