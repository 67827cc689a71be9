#include "troupe/coordinators/collective/collective_route.hpp"

#include "troupe/coordinators/step/placement.hpp"

namespace troupe {

bool collective_route::travels(collective_stage stage, size_t from, size_t to) const {
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

index_range collective_route::owned(size_t count, size_t member) const {
  if (one_stage)
    return {0, count};
  if (kind != collective_kind::broadcast)
    return split_evenly(count, member_count)[member];
  return split_evenly(count, member_count - 1)[member - (member > root ? 1 : 0)];
}

} // namespace troupe
