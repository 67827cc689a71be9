#include "coordinators/step/shard_rule.hpp"

#include <algorithm>

namespace troupe {

shard_rule::offer_result shard_rule::offer(uint64_t step, const tree_node& node,
                                           uint64_t checksum) {
  if (step != version_)
    return {step < version_ ? offer_verdict::stale : offer_verdict::early};
  if (!is_tree_node(plan_.slice_count, node) || !has_rows(node))
    return {offer_verdict::malformed};
  // Held nodes are sorted and disjoint: only those that overlap `node` matter, and they adjoin.
  const auto first =
    std::ranges::find_if(held_, [&](const tree_node& held) { return held.end > node.begin; });
  const auto position = static_cast<size_t>(first - held_.begin());
  if (first != held_.end() && *first == node)
    return {checksums_[position] == checksum ? offer_verdict::duplicate : offer_verdict::conflict};
  if (first != held_.end() && first->contains(node))
    return {offer_verdict::covered};
  size_t dropped = 0;
  while (position + dropped < held_.size() && node.contains(held_[position + dropped]))
    ++dropped;
  const auto at = static_cast<std::ptrdiff_t>(position);
  held_.erase(held_.begin() + at, held_.begin() + at + static_cast<std::ptrdiff_t>(dropped));
  checksums_.erase(checksums_.begin() + at,
                   checksums_.begin() + at + static_cast<std::ptrdiff_t>(dropped));
  held_.insert(held_.begin() + at, node);
  checksums_.insert(checksums_.begin() + at, checksum);
  return {offer_verdict::accepted, position, dropped};
}

// What is added for a slice that does not exist changes bits, be it zeros: -0 + 0 is 0.
bool shard_rule::has_rows(const tree_node& node) const {
  for (auto slice = node.begin; slice < node.end; ++slice)
    if (plan_.slice_exists(version_, slice))
      return true;
  return false;
}

std::optional<reduction_plan> shard_rule::complete() const {
  return plan_reduction(plan_.slice_count, held_,
                        [this](size_t slice) { return plan_.slice_exists(version_, slice); });
}

void shard_rule::advance() {
  ++version_;
  held_.clear();
  checksums_.clear();
}

} // namespace troupe
