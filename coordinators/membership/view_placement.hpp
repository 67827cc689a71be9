// What each member owns in a cluster view: how a term begins, and what changes within it.
//
// A term begins with everything placed anew. Within it spans stay, and slices are shared anew whenever members or their
// speeds change: moving a slice is always safe, since its gradient has the same bits everywhere. Where rows have holders, all
// of this is done holding by holding, among the replicas that have its rows. Where a
// model is split, groups own the slices. When a term begins replicas are, in order of members, the
// ranks of the grid (grid.hpp): as many groups as are whole, the rest are spares. Within a term
// groups are mended (group_mending.hpp).

#pragma once

#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/membership/holders.hpp"
#include "coordinators/parallel/grid.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Replicas of these members.
size_t replicas_of(const std::vector<member>& members);

/// Holdings whose rows no replica of these members has.
std::vector<size_t> holdings_without_replica(const row_holders& holders,
                                             const std::vector<member>& members);

/// "the rows of north": those that no replica of these members has, by their holders; empty: there are none.
std::string rows_need(const row_holders& holders, const std::vector<member>& members);

/// False when these members have fewer replicas than a split model has partitions, or none for the rows of some holding:
/// then no view of them can be placed.
bool can_place(const model_split& split, const row_holders& holders,
               const std::vector<member>& members);

/// A replica: its process, and its index there.
using replica_key = std::pair<std::string, uint64_t>;
/// Slices a second. Replicas that are not named count as the slowest of the others.
using replica_speeds = std::map<replica_key, double>;

/// How slices are to be shared.
struct speed_wish {
  replica_speeds speeds;
  std::optional<replica_key> tried{}; ///< has one slice, whatever its speed

  friend bool operator==(const speed_wish&, const speed_wish&) = default;
};

/// Whether slices shared by these speeds make a step shorter by this part of its time. Of models that are not
/// split.
bool gains(const cluster_view& view, const replica_speeds& speeds, double part,
           const row_holders& holders);

/// What a term begins with; `id` and `start_version` are left to the caller. Shards are taken in
/// order of members until the blocks run out, so that a small model makes few members precious.
/// `holders`: whose models are not split.
cluster_view place_anew(std::vector<member> members, size_t slice_count, size_t parameter_count,
                        const model_split& split = {}, const row_holders& holders = {},
                        const replica_speeds& speeds = {});

struct slice_wishes {
  std::set<std::string>
    newcomers{}; ///< have no version yet: they get no slices that another member may compute
  replica_speeds speeds{};
  std::optional<replica_key> tried{}; ///< has one slice, whatever its speed
};

/// The same term with other members, the number one higher. Every member that holds spans must be
/// among them. Split models have no wishes.
cluster_view place_again(const cluster_view& before, std::vector<member> members,
                         size_t slice_count, const model_split& split = {},
                         const row_holders& holders = {}, const slice_wishes& wishes = {});

// Span placement: which shard owns which blocks of the parameters.
//
// By default blocks are split evenly, over shards in order of members. Where a model is split over
// replicas, a process contributes gradients of some tiles only, and those of blocks that it owns
// never leave it. So each gets blocks of its own replicas' tiles, as far as its shards go, each of
// which owns one contiguous span:
//
//   tiles, in order of elements   |   part 0       |   part 1       |c|   c: what parts have in common
//   contributed by                |   a, c         |   b, d         |a|
//   owned by                      | a     | c      | b     | d        |
//
// A shard goes where it saves most: at tiles without an owner, their size; at those of n owners what
// the largest share shrinks by. Tiles that are left over (the small c above) go to a neighbour. When
// that is much of the model (layers in stages and many parts alternate: a process would need as many
// shards as it has parts), blocks are split evenly after all, and each span goes to the member that
// contributes most of it.

/// Shards in order of members until the blocks run out, so that a small model makes few members
/// precious.
std::vector<shard_place> place_spans_evenly(const std::vector<member>& members,
                                            size_t parameter_count);

/// As above, and so too when a member has shards and no replicas: it serves all alike.
/// `replicas`: with partitions of the split model. A member without any owns nothing.
std::vector<shard_place> place_spans_near(const std::vector<member>& members,
                                          std::span<const replica_place> replicas,
                                          size_t parameter_count,
                                          std::span<const split_tile> tiles);

} // namespace troupe
