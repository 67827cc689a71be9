#include "coordinators/parallel/tile_window.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

tile_window::tile_window(const segment_chain& chain, const partition& work) {
  std::vector<index_range> all;
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    const bool shared = t == chain.part_count() || chain.segment(k).cut == layer_cut::none;
    if (!work.segments.contains(k) || !work.parts.contains(shared ? 0 : t))
      return;
    tiles_.push_back({k, t, elements, 0});
    all.push_back(elements);
  });
  window_ = element_window{std::move(all)};
  std::ranges::sort(tiles_, {}, [](const entry& x) { return x.elements; });
  for (auto& tile : tiles_)
    tile.place = window_.place_of(tile.elements);
}

std::vector<index_range> elements_read(const segment_chain& chain, const partition& work) {
  std::vector<index_range> result;
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    const bool shared = t == chain.part_count() || chain.segment(k).cut == layer_cut::none;
    if (work.segments.contains(k) && (shared || work.parts.contains(t)))
      result.push_back(elements);
  });
  return result;
}

std::vector<index_range> elements_contributed(const segment_chain& chain, const partition& work) {
  std::vector<index_range> result;
  const tile_window window{chain, work};
  for (const auto& run : window.runs())
    result.push_back(run.elements);
  return result;
}

gradient_makers::gradient_makers(const segment_chain& chain,
                                 const std::vector<partition>& partitions,
                                 std::vector<index_range> tiles)
  : tiles_(std::move(tiles)) {
  for (const auto& work : partitions)
    runs_.push_back(work.segments.empty() ? std::vector{index_range{0, SIZE_MAX}}
                                          : elements_contributed(chain, work));
}

std::vector<index_range> gradient_makers::ranges_of(const index_range& span) const {
  std::vector<index_range> result;
  for (const auto& tile : tiles_)
    if (const index_range range{std::max(tile.begin, span.begin), std::min(tile.end, span.end)};
        range.begin < range.end)
      result.push_back(range);
  return result.empty() ? std::vector{span} : result;
}

bool gradient_makers::contributes(size_t replica, const index_range& range) const {
  return std::ranges::any_of(runs_.at(replica),
                             [&](const index_range& run) { return run.contains(range); });
}

} // namespace troupe
