#include "coordinators/step/local_sums.hpp"

#include <algorithm>

namespace troupe {

std::map<uint64_t, std::vector<local_sums::sum>>
local_sums::set_slices(const std::vector<index_range>& slices) {
  slices_ = {};
  for (const auto& range : slices)
    if (!range.empty())
      slices_.add(range);
  std::map<uint64_t, std::vector<sum>> result;
  for (auto& [step, here] : steps_)
    if (auto sums = complete(step, here); !sums.empty())
      result[step] = std::move(sums);
  return result;
}

std::vector<local_sums::sum> local_sums::on_part(uint64_t step, const tree_node& part) {
  auto& here = steps_[step];
  if (const auto awaited = std::ranges::find(here.added, part); awaited != here.added.end()) {
    here.added.erase(awaited);
    return {{part, {part}, {{0}}}};
  }
  auto known = here.taken;
  for (const auto& other : here.held)
    known.add(other);
  if (!is_tree_node(plan_.slice_count, part) || known.contains(part))
    return {};
  const bool overlaps = known.missing_in(part) != std::vector<index_range>{part};
  if (overlaps)
    return {take_alone(here, part)};
  here.held.insert(std::ranges::lower_bound(here.held, part), part);
  return complete(step, here);
}

// Slices have moved between replicas: some of it was sent, some is new.
local_sums::sum local_sums::take_alone(work& here, const tree_node& part) {
  std::erase_if(here.held, [&](const tree_node& other) { return part.contains(other); });
  here.taken.add(part);
  return {part, {part}, {{0}}};
}

std::vector<local_sums::sum> local_sums::complete(uint64_t step, work& here) const {
  std::vector<tree_node> nodes;
  for (const auto& range : slices_.ranges())
    for (const auto& open : here.taken.missing_in(range))
      std::ranges::copy(largest_nodes(plan_.slice_count, open), std::back_inserter(nodes));
  for (const auto& part : here.held)
    if (!std::ranges::any_of(nodes, [&](const auto& node) { return node.contains(part); }))
      nodes.push_back(part);
  std::vector<sum> result;
  for (const auto& node : nodes) {
    auto found = sum_of(step, node, here.held);
    if (found.parts.empty())
      continue;
    for (const auto& part : found.parts) {
      std::erase(here.held, part);
      here.taken.add(part);
    }
    if (found.parts.size() > 1)
      here.added.push_back(found.node);
    result.push_back(std::move(found));
  }
  return result;
}

local_sums::sum local_sums::sum_of(uint64_t step, const tree_node& node,
                                   const std::vector<tree_node>& held) const {
  std::vector<tree_node> parts;
  std::vector<tree_node> places; // within the node
  for (const auto& part : held)
    if (node.contains(part)) {
      parts.push_back(part);
      places.push_back({part.begin - node.begin, part.end - node.begin});
    }
  const auto plan = plan_reduction(node.size(), places, [&](size_t slice) {
    return plan_.slice_exists(step, node.begin + slice);
  });
  if (!plan)
    return {};
  return {parts.size() == 1 ? parts[0] : node, parts, *plan};
}

bool local_sums::goes_alone(uint64_t step, const tree_node& part) const {
  auto twin = *this;
  const auto sums = twin.on_part(step, part);
  return sums.size() == 1 && sums.front().node == part && sums.front().parts.size() == 1;
}

void local_sums::drop_before(uint64_t version) {
  steps_.erase(steps_.begin(), steps_.lower_bound(version));
}

} // namespace troupe
