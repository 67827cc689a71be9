#include "troupe/coordinators/parallel/tile_window.hpp"

#include <algorithm>

namespace troupe {

tile_window::tile_window(const segment_chain& chain, const portion& work) {
  chain.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    const bool shared = t == chain.part_count() || chain.segment(k).cut == layer_cut::none;
    if (work.segments.contains(k) && work.parts.contains(shared ? 0 : t))
      tiles_.push_back({k, t, elements, 0});
  });
  std::ranges::sort(tiles_, {}, [](const entry& x) { return x.elements; });
  for (auto& tile : tiles_) {
    tile.place = size_;
    size_ += tile.elements.size();
    if (!runs_.empty() && runs_.back().elements.end == tile.elements.begin)
      runs_.back().elements.end = tile.elements.end;
    else
      runs_.push_back(tile);
  }
}

} // namespace troupe
