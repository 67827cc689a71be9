#include "troupe/coordinators/exchange/gradient_gathering.hpp"

namespace troupe {

gradient_gathering::offer_result gradient_gathering::offer(uint64_t step, const tree_node& node,
                                                           const index_range& elements) {
  if (step != version_)
    return {step < version_ ? gather_verdict::stale : gather_verdict::early};
  if (elements.begin >= elements.end || !span_.contains(elements) ||
      !is_tree_node(plan_.slice_count, node))
    return {gather_verdict::malformed};
  auto& here = here_[node];
  if (!here.add(elements))
    return {gather_verdict::known};
  return {gather_verdict::accepted, here.contains(span_)};
}

std::vector<index_range> gradient_gathering::missing(const std::vector<index_range>& slices) const {
  span_set covered;
  for (const auto& [node, here] : here_)
    if (here.contains(span_))
      covered.add(node);
  span_set lacking;
  for (const auto& range : slices)
    for (auto slice = range.begin; slice < range.end; ++slice)
      if (plan_.slice_exists(version_, slice) && !covered.contains({slice, slice + 1}))
        lacking.add({slice, slice + 1});
  return lacking.ranges();
}

void gradient_gathering::advance(uint64_t version) {
  if (version <= version_)
    return;
  version_ = version;
  here_.clear();
}

} // namespace troupe
