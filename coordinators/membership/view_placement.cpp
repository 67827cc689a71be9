#include "coordinators/membership/view_placement.hpp"

#include "coordinators/membership/group_mending.hpp"
#include "coordinators/step/placement.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

namespace {

std::vector<replica_place> all_replicas(const std::vector<member>& members) {
  std::vector<replica_place> result;
  for (size_t m = 0; m < members.size(); ++m)
    for (size_t i = 0; i < members[m].replica_count; ++i)
      result.push_back({m, i, {}});
  return result;
}

void assign_groups(std::vector<replica_place>& replicas, size_t slice_count,
                   const model_split& split) {
  const grid_work work{slice_count, split.part_count, split.segment_costs, split.stages};
  const auto partitions = place_partitions(split.shape, work, replicas.size());
  for (size_t i = 0; i < replicas.size(); ++i)
    replicas[i].take(partitions[i]);
}

/// Slices, and the replicas that may compute them.
struct slice_share {
  index_range slices;
  std::vector<replica_place*> replicas{};
  std::vector<double> speeds{}; ///< of these; none: they are taken for equal

  /// By speed, from 0.
  std::vector<index_range> best_parts() const {
    return speeds.empty() ? assign_slices(slices.size(), replicas.size())
                          : assign_slices(slices.size(), speeds);
  }
  double time_of(const std::vector<index_range>& parts) const {
    return speeds.empty() ? 0 : step_time(parts, speeds);
  }
  double time_now() const {
    std::vector<index_range> parts;
    for (const auto* place : replicas)
      parts.push_back(place->slices);
    return time_of(parts);
  }

  void assign_anew() {
    const auto parts = best_parts();
    for (size_t i = 0; i < replicas.size(); ++i)
      replicas[i]->take({{slices.begin + parts[i].begin, slices.begin + parts[i].end}, {}, {}});
  }

  /// Gives the replica the next slice of its neighbours, of which one keeps one at least.
  void give_one_to(const replica_place* tried) {
    const auto at = std::ranges::find(replicas, tried);
    if (at == replicas.end() || !(*at)->slices.empty())
      return;
    const auto can_give = [](const replica_place* place) { return place->slices.size() > 1; };
    if (const auto left = std::find_if(std::reverse_iterator{at}, replicas.rend(), can_give);
        left != replicas.rend()) {
      const auto end = (*left)->slices.end--;
      (*at)->slices = {end - 1, end};
    } else if (const auto right = std::find_if(at, replicas.end(), can_give);
               right != replicas.end()) {
      const auto begin = (*right)->slices.begin++;
      (*at)->slices = {begin, begin + 1};
    }
  }
};

/// Empty when none of them is known.
std::vector<double> speeds_of(const std::vector<replica_place*>& replicas,
                              const std::vector<member>& members, const replica_speeds& speeds) {
  std::vector<double> result;
  double slowest = 0;
  for (const auto* place : replicas) {
    const auto found = speeds.find({members[place->member].name, place->index});
    result.push_back(found == speeds.end() ? 0 : found->second);
    if (result.back() > 0 && (slowest == 0 || result.back() < slowest))
      slowest = result.back();
  }
  std::ranges::replace(result, 0.0, slowest);
  return slowest > 0 ? result : std::vector<double>{};
}

/// Of each holding, or of all.
std::vector<slice_share> shares_of(std::vector<replica_place>& replicas,
                                   const std::vector<member>& members, size_t slice_count,
                                   const row_holders& holders, const slice_wishes& wishes) {
  std::vector<slice_share> result;
  for (const auto& slices : holders.slices)
    result.push_back({slices});
  if (holders.empty())
    result.push_back({{0, slice_count}});
  for (auto& place : replicas)
    if (holders.empty())
      result.front().replicas.push_back(&place);
    else if (const auto own = holders.of(members[place.member].name))
      result[*own].replicas.push_back(&place);
  const auto is_new = [&](const replica_place* place) {
    return wishes.newcomers.contains(members[place->member].name);
  };
  for (auto& share : result)
    if (!std::ranges::all_of(share.replicas, is_new))
      std::erase_if(share.replicas, is_new);
  for (auto& share : result)
    share.speeds = speeds_of(share.replicas, members, wishes.speeds);
  return result;
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

} // namespace

size_t replicas_of(const std::vector<member>& members) {
  size_t result = 0;
  for (const auto& who : members)
    result += who.replica_count;
  return result;
}

std::vector<size_t> holdings_without_replica(const row_holders& holders,
                                             const std::vector<member>& members) {
  std::vector<size_t> result;
  for (size_t holding = 0; holding < holders.slices.size(); ++holding)
    if (std::ranges::none_of(members, [&](const member& who) {
          return who.replica_count > 0 && holders.of(who.name) == holding;
        }))
      result.push_back(holding);
  return result;
}

std::string rows_need(const row_holders& holders, const std::vector<member>& members) {
  std::string result;
  for (const auto holding : holdings_without_replica(holders, members))
    result += (result.empty() ? "the rows of " : ", and of ") + holders.names_of(holding);
  return result;
}

bool can_place(const model_split& split, const row_holders& holders,
               const std::vector<member>& members) {
  const auto size = split.shape.group_size();
  return (size == 1 || replicas_of(members) >= size) &&
         holdings_without_replica(holders, members).empty();
}

bool gains(const cluster_view& view, const replica_speeds& speeds, double part,
           const row_holders& holders) {
  auto replicas = view.replicas;
  size_t slice_count = 0; // all slices of a view are somebody's
  for (const auto& place : replicas)
    slice_count = std::max(slice_count, place.slices.end);
  double now = 0, best = 0;
  for (const auto& share : shares_of(replicas, view.members, slice_count, holders, {{}, speeds})) {
    now = std::max(now, share.time_now());
    best = std::max(best, share.time_of(share.best_parts()));
  }
  return best <= (1 - part) * now && now > 0;
}

cluster_view place_anew(std::vector<member> members, size_t slice_count, size_t parameter_count,
                        const model_split& split, const row_holders& holders,
                        const replica_speeds& speeds) {
  cluster_view result;
  result.replicas = all_replicas(members);
  if (split.splits())
    assign_groups(result.replicas, slice_count, split);
  else
    for (auto& share : shares_of(result.replicas, members, slice_count, holders, {{}, speeds}))
      share.assign_anew();
  result.shards = split.splits()
                    ? place_spans_near(members, result.replicas, parameter_count, split.tiles)
                    : place_spans_evenly(members, parameter_count);
  result.members = std::move(members);
  return result;
}

cluster_view place_again(const cluster_view& before, std::vector<member> members,
                         size_t slice_count, const model_split& split, const row_holders& holders,
                         const slice_wishes& wishes) {
  cluster_view result = before;
  ++result.id.number;
  result.replicas = all_replicas(members);
  if (split.splits()) {
    const auto orphans = keep_work(before, members, result.replicas);
    mend_groups(result.replicas, orphans, slice_count, split);
  } else
    for (auto& share : shares_of(result.replicas, members, slice_count, holders, wishes)) {
      share.assign_anew();
      if (wishes.tried)
        for (const auto* place : share.replicas)
          if (replica_key{members[place->member].name, place->index} == *wishes.tried)
            share.give_one_to(place);
    }
  result.members = std::move(members);
  const auto follow = [&](auto& place) {
    const auto found = result.find(before.members[place.member].name);
    assert(found && "a span was lost: that is a new term");
    place.member = *found;
  };
  std::ranges::for_each(result.shards, follow);
  std::ranges::for_each(result.holders, follow);
  return result;
}

} // namespace troupe
