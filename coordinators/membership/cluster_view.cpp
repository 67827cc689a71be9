#include "troupe/coordinators/membership/cluster_view.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

namespace {

using carrier = std::tuple<std::string, uint64_t, size_t, portion>;

/// Who shares these slices, and what each carries.
std::vector<carrier> group_with(const cluster_view& x, const index_range& slices) {
  std::vector<carrier> result;
  for (const auto& place : x.replicas)
    if (place.slices == slices)
      result.emplace_back(x.members[place.member].name, x.members[place.member].incarnation,
                          place.index, place.work());
  std::ranges::sort(result);
  return result;
}

} // namespace

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

bool same_group(const cluster_view& before, const cluster_view& now, size_t replica) {
  const auto& slices = now.replicas[replica].slices;
  return !slices.empty() && group_with(before, slices) == group_with(now, slices);
}

} // namespace troupe
