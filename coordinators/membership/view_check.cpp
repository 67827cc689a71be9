#include "troupe/coordinators/membership/view_check.hpp"

#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>
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

} // namespace

std::string misfit_of(const cluster_view& x, const view_limits& here) {
  if (!names_are_unique(x.members))
    return "it names a process twice";
  if (x.start_version > here.last_version)
    return "it begins at version " + std::to_string(x.start_version) + " of " +
           std::to_string(here.last_version);
  const auto replicas = misfit_of_replicas(x, here);
  return replicas.empty() ? misfit_of_shards(x, here) : replicas;
}

} // namespace troupe
