#include "troupe/coordinators/membership/cluster_view.hpp"

#include <algorithm>

namespace troupe {

std::optional<size_t> cluster_view::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &member::name);
  if (found == members.end())
    return std::nullopt;
  return static_cast<size_t>(found - members.begin());
}

bool cluster_view::computes(size_t member_index) const {
  return std::ranges::any_of(replicas, [=](const replica_place& place) {
    return place.member == member_index && !place.slices.empty();
  });
}

bool cluster_view::holds_spans(size_t member_index) const {
  return std::ranges::any_of(shards, [=](const shard_place& place) {
    return place.member == member_index && !place.blocks.empty();
  });
}

} // namespace troupe
