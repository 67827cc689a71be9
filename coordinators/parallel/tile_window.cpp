#include "troupe/coordinators/parallel/tile_window.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

tile_window::tile_window(const segment_chain& chain, const portion& work) {
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

std::vector<index_range> elements_read(const segment_chain& chain, const portion& work) {
  std::vector<index_range> result;
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    const bool shared = t == chain.part_count() || chain.segment(k).cut == layer_cut::none;
    if (work.segments.contains(k) && (shared || work.parts.contains(t)))
      result.push_back(elements);
  });
  return result;
}

std::vector<index_range> elements_contributed(const segment_chain& chain, const portion& work) {
  std::vector<index_range> result;
  const tile_window window{chain, work};
  for (const auto& run : window.runs())
    result.push_back(run.elements);
  return result;
}

} // namespace troupe
