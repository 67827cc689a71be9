// The route of a collective: who sends which elements to whom.
//
// There is one algorithm. The N values of a round have owners, 1/n each. In the first stage owners
// are brought what they are to own, in the second they bring it to whoever wants all. Each operation
// is one stage or both:
//
//                                 scatter stage     gather stage       bytes a member sends
//   reduce-scatter                all to all                           (n-1)/n N
//   all-gather, barrier                             all to all         (n-1) times its own
//   all-reduce                    all to all        all to all         2 (n-1)/n N
//   all-reduce in one stage       all to all                           (n-1) N
//   scatter                       root to others                       root (n-1)/n N
//   broadcast                     root to others    others to others   root N, others (n-2)/(n-1) N
//
// In one stage everybody owns everything. In a broadcast the root owns nothing: its part would have
// to go to all others, and the root would send 2 (n-1)/n N. A part goes out even if there is nothing
// in it, so a member waits for a number of parts that it knows.

#pragma once

#include "troupe/coordinators/base/canonical_tree.hpp"
#include "troupe/coordinators/collective/collective_call.hpp"
#include "troupe/coordinators/step/placement.hpp"

namespace troupe {

struct collective_route {
  collective_kind kind = collective_kind::barrier;
  size_t root = 0; ///< of broadcast and scatter
  size_t member_count = 1;
  bool one_stage = false; ///< of all-reduce

  /// Whether a part of this stage goes from one member to the other.
  bool travels(collective_stage stage, size_t from, size_t to) const;

  /// The elements of N that this member owns; of a broadcast, a member other than the root.
  index_range owned(size_t count, size_t member) const;
};

inline bool has_root(collective_kind kind) {
  return kind == collective_kind::broadcast || kind == collective_kind::scatter;
}

inline bool is_sum(collective_kind kind) {
  return kind == collective_kind::all_reduce || kind == collective_kind::reduce_scatter;
}

inline bool collective_route::travels(collective_stage stage, size_t from, size_t to) const {
  if (from == to)
    return false;
  if (stage == collective_stage::scatter)
    return is_sum(kind) || (has_root(kind) && from == root);
  switch (kind) {
  case collective_kind::all_reduce:
    return !one_stage;
  case collective_kind::broadcast:
    return from != root && to != root;
  default:
    return kind == collective_kind::all_gather || kind == collective_kind::barrier;
  }
}

inline index_range collective_route::owned(size_t count, size_t member) const {
  if (one_stage)
    return {0, count};
  if (kind != collective_kind::broadcast)
    return split_evenly(count, member_count)[member];
  return split_evenly(count, member_count - 1)[member - (member > root ? 1 : 0)];
}

} // namespace troupe
