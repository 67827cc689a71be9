#include "troupe/coordinators/membership/view_placement.hpp"

#include "troupe/coordinators/membership/group_mending.hpp"
#include "troupe/coordinators/membership/span_placement.hpp"
#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe {

namespace {

std::vector<portion> whole_portions(const std::vector<index_range>& slices) {
  std::vector<portion> result;
  for (const auto& own : slices)
    result.push_back({own, {}, {}});
  return result;
}

std::vector<replica_place> all_replicas(const std::vector<member>& members) {
  std::vector<replica_place> result;
  for (size_t m = 0; m < members.size(); ++m)
    for (size_t i = 0; i < members[m].replica_count; ++i)
      result.push_back({m, i, {}});
  return result;
}

void assign_anew(std::vector<replica_place>& replicas, size_t slice_count,
                 const model_split& split) {
  const grid_work work{slice_count, split.part_count, split.segment_costs, split.stages};
  const auto portions = split.splits()
                          ? place_portions(split.shape, work, replicas.size())
                          : whole_portions(assign_slices(slice_count, replicas.size()));
  for (size_t i = 0; i < replicas.size(); ++i)
    replicas[i].take(portions[i]);
}

/// The place of the same replica, in the same life, among those of another view.
replica_place* find_same(std::vector<replica_place>& places, const std::vector<member>& members,
                         const replica_place& place, const member& owner) {
  const auto is_same = [&](const replica_place& other) {
    const auto& its = members[other.member];
    return other.index == place.index && its.name == owner.name &&
           its.incarnation == owner.incarnation;
  };
  const auto found = std::ranges::find_if(places, is_same);
  return found == places.end() ? nullptr : &*found;
}

/// Living replicas keep their work; the slices of those that are gone are returned.
std::vector<index_range> keep_work(const cluster_view& before, const std::vector<member>& members,
                                   std::vector<replica_place>& replicas) {
  std::vector<index_range> orphans;
  for (const auto& place : before.replicas) {
    if (auto* same = find_same(replicas, members, place, before.members[place.member]))
      same->take(place.work());
    else if (!place.slices.empty())
      orphans.push_back(place.slices);
  }
  return orphans;
}

void give_to_spares(const std::vector<index_range>& orphans, std::vector<replica_place>& replicas) {
  auto next = replicas.begin();
  for (const auto& range : orphans) {
    next = std::find_if(next, replicas.end(),
                        [](const replica_place& place) { return place.slices.empty(); });
    if (next == replicas.end())
      return;
    next->slices = range;
  }
}

/// Nobody has two slices more than another: who has come back has work again.
bool is_fair(const std::vector<replica_place>& replicas, size_t slice_count) {
  size_t owned = 0;
  size_t largest = 0;
  size_t smallest = slice_count;
  for (const auto& place : replicas) {
    owned += place.slices.size();
    largest = std::max(largest, place.slices.size());
    smallest = std::min(smallest, place.slices.size());
  }
  return owned == slice_count && largest <= smallest + 1;
}

} // namespace

size_t replicas_of(const std::vector<member>& members) {
  size_t result = 0;
  for (const auto& who : members)
    result += who.replica_count;
  return result;
}

bool makes_group(const model_split& split, const std::vector<member>& members) {
  return split.shape.group_size() == 1 || replicas_of(members) >= split.shape.group_size();
}

cluster_view place_anew(std::vector<member> members, size_t slice_count, size_t parameter_count,
                        const model_split& split) {
  cluster_view result;
  result.replicas = all_replicas(members);
  assign_anew(result.replicas, slice_count, split);
  result.shards = split.splits()
                    ? place_spans_near(members, result.replicas, parameter_count, split.tiles)
                    : place_spans_evenly(members, parameter_count);
  result.members = std::move(members);
  return result;
}

cluster_view place_again(const cluster_view& before, std::vector<member> members,
                         size_t slice_count, const model_split& split) {
  cluster_view result = before;
  ++result.id.number;
  result.replicas = all_replicas(members);
  const auto orphans = keep_work(before, members, result.replicas);
  if (split.splits())
    mend_groups(result.replicas, orphans, slice_count, split);
  else
    give_to_spares(orphans, result.replicas);
  if (!split.splits() && !result.replicas.empty() && !is_fair(result.replicas, slice_count))
    assign_anew(result.replicas, slice_count, split);
  result.members = std::move(members);
  for (auto& place : result.shards) {
    const auto found = result.find(before.members[place.member].name);
    assert(found && "a span was lost: that is a new term");
    place.member = *found;
  }
  return result;
}

} // namespace troupe
