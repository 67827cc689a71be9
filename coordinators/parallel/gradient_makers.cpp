#include "troupe/coordinators/parallel/gradient_makers.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

gradient_makers::gradient_makers(const segment_chain& chain, const std::vector<portion>& portions,
                                 std::vector<index_range> tiles)
  : tiles_(std::move(tiles)) {
  for (const auto& work : portions)
    runs_.push_back(work.segments.empty() ? std::vector{index_range{0, SIZE_MAX}}
                                          : elements_contributed(chain, work));
}

std::vector<index_range> gradient_makers::lanes_of(const index_range& span) const {
  std::vector<index_range> result;
  for (const auto& tile : tiles_)
    if (const index_range lane{std::max(tile.begin, span.begin), std::min(tile.end, span.end)};
        lane.begin < lane.end)
      result.push_back(lane);
  return result.empty() ? std::vector{span} : result;
}

bool gradient_makers::contributes(size_t replica, const index_range& lane) const {
  return std::ranges::any_of(runs_.at(replica),
                             [&](const index_range& run) { return run.contains(lane); });
}

} // namespace troupe
