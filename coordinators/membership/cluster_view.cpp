#include "coordinators/membership/cluster_view.hpp"

#include "coordinators/base/span_set.hpp"
#include "coordinators/step/placement.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace troupe {

namespace {

std::string of_what(const char* what, size_t index, size_t count) {
  return std::string{"the director counts on "} + what + " " + std::to_string(index) +
         " of this process, which has " + std::to_string(count);
}

bool names_are_unique(const std::vector<member>& members) {
  std::set<std::string> names;
  return std::ranges::all_of(members,
                             [&](const member& one) { return names.insert(one.name).second; });
}

std::string misfit_of_replicas(const cluster_view& x, const view_limits& here) {
  const auto slices = here.slice_count > 0 ? here.slice_count : x.replicas.size();
  for (const auto& place : x.replicas) {
    if (place.member >= x.members.size() || place.slices.begin > place.slices.end ||
        (here.slice_count > 0 && place.slices.end > slices))
      return "it names slices or processes that do not exist";
    if (place.segments.begin > place.segments.end || place.segments.end > here.segment_count ||
        place.parts.begin > place.parts.end || place.parts.end > here.part_count)
      return "it splits the model over replicas as this process cannot";
    if (x.members[place.member].name == here.self && place.index >= here.replica_count)
      return of_what("replica", place.index, here.replica_count);
    if (const auto& name = x.members[place.member].name;
        here.slice_count > 0 && !here.holders.may_compute(name, place.slices))
      return "it gives " + name + " slices of rows that it does not have";
  }
  return {};
}

bool carries(const partition& x, size_t segment, size_t part) {
  const bool is_whole = x.segments.empty() && x.parts.empty();
  return is_whole || (x.segments.contains(segment) && x.parts.contains(part));
}

/// Of replicas with the same slices: each part of each segment is carried once.
std::string misfit_of_group(const std::vector<partition>& group, const view_limits& here) {
  for (size_t k = 0; k < std::max<size_t>(here.segment_count, 1); ++k)
    for (size_t t = 0; t < std::max<size_t>(here.part_count, 1); ++t) {
      const auto count =
        std::ranges::count_if(group, [&](const partition& x) { return carries(x, k, t); });
      if (count != 1)
        return std::string{count == 0 ? "no replica carries" : "several replicas carry"} +
               " part " + std::to_string(t) + " of segment " + std::to_string(k) + " of slices " +
               range_text(group.front().slices);
    }
  return {};
}

std::string misfit_of_groups(const cluster_view& x, const view_limits& here) {
  std::map<index_range, std::vector<partition>> groups; // by their slices
  for (const auto& place : x.replicas)
    if (!place.slices.empty())
      groups[place.slices].push_back(place.work());
  size_t next_slice = 0;
  for (const auto& [slices, group] : groups) {
    if (const auto why = misfit_of_group(group, here); !why.empty())
      return why;
    if (slices.begin < next_slice)
      return "slice " + std::to_string(slices.begin) + " is of two groups";
    next_slice = slices.end;
  }
  return {};
}

std::string misfit_of_shards(const cluster_view& x, const view_limits& here) {
  size_t next_block = 0;
  for (const auto& place : x.shards) {
    if (place.member >= x.members.size() || place.blocks.begin != next_block ||
        place.blocks.end < next_block)
      return "its blocks have gaps, or processes that do not exist";
    next_block = place.blocks.end;
    if (x.members[place.member].name == here.self && place.index >= here.shard_count)
      return of_what("shard", place.index, here.shard_count);
  }
  return next_block <= block_count(here.parameter_count) ? ""
                                                         : "its blocks are those of another model";
}

std::string misfit_of_copies(const cluster_view& x, const view_limits& here) {
  const auto count = block_count(here.parameter_count);
  span_set held;
  size_t sum = 0;
  for (const auto& one : x.holders) {
    if (one.member >= x.members.size() || one.blocks.end > count || one.blocks.empty() ||
        one.blocks.begin > one.blocks.end || x.start_version == 0)
      return "the state it begins with is held by processes that do not exist, or of another model";
    sum += one.blocks.size();
    held.add(one.blocks);
  }
  if (!x.holders.empty() && (sum != count || !held.contains({0, count})))
    return "blocks of the state it begins with are held by nobody, or twice";
  return x.deputies < std::max<size_t>(x.members.size(), 1) &&
             (x.deputies == 0) == (x.copy_every == 0)
           ? ""
           : "its copies of spans have no interval, or nowhere to go";
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

bool cluster_view::follows(size_t member_index) const {
  return std::ranges::any_of(
    replicas, [=](const replica_place& place) { return place.member == member_index; });
}

bool cluster_view::holds_spans(size_t member_index) const {
  return std::ranges::any_of(shards, [=](const shard_place& place) {
    return place.member == member_index && !place.blocks.empty();
  });
}

std::string cluster_view::work_text(size_t member_index) const {
  std::set<index_range> own; // a group's slices count once
  for (const auto& place : replicas)
    if (place.member == member_index && !place.slices.empty())
      own.insert(place.slices);
  const bool is_one = own.size() == 1 && own.begin()->size() == 1;
  std::string result = own.empty() ? "computes nothing for now"
                       : is_one    ? "computes slice"
                                   : "computes slices";
  for (const auto& x : own)
    result += (x == *own.begin() ? " " : ", ") + std::to_string(x.begin) +
              (x.size() > 1 ? " to " + std::to_string(x.end - 1) : "");
  if (holds_spans(member_index))
    result += ", and keeps parameters";
  return id.number == 1 ? result + "; from step " + std::to_string(start_version) + " on" : result;
}

std::string misfit_of(const cluster_view& x, const view_limits& here) {
  if (!names_are_unique(x.members))
    return "it names a process twice";
  if (x.start_version > here.last_version)
    return "it begins at version " + std::to_string(x.start_version) + " of " +
           std::to_string(here.last_version);
  auto why = misfit_of_replicas(x, here);
  if (why.empty() && here.slice_count > 0)
    why = misfit_of_groups(x, here);
  if (why.empty())
    why = misfit_of_copies(x, here);
  return why.empty() ? misfit_of_shards(x, here) : why;
}

} // namespace troupe
