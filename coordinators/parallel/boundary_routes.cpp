#include "coordinators/parallel/boundary_routes.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

boundary_routes::boundary_routes(std::vector<partition> group,
                                 const std::vector<layer_segment>& segments, size_t part_count)
  : group_(std::move(group)), part_count_(part_count) {
  const auto last = segments.size() - 1;
  for (size_t k = 0; k < segments.size(); ++k) {
    const auto below = stage_of(k);
    const auto above = stage_of(std::min(k + 1, last));
    const bool is_cut_above = k < last && segments[k + 1].cut != layer_cut::none;
    routes_.push_back({boundary_route{below, above, segments[k].cut == layer_cut::inputs},
                       boundary_route{above, below, is_cut_above},
                       boundary_route{below, below, true}});
  }
}

std::vector<size_t> boundary_routes::stage_of(size_t segment) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < group_.size(); ++i)
    if (group_[i].segments.contains(segment))
      result.push_back(i);
  std::ranges::sort(result, {}, [this](size_t i) { return group_[i].parts; });
  return result;
}

index_range boundary_routes::rows_of(const boundary_route& route, size_t maker,
                                     size_t row_count) const {
  const auto& parts = group_[maker].parts;
  if (route.is_direct())
    return {0, row_count};
  return {part_begin(parts.begin, row_count, part_count_),
          part_begin(parts.end, row_count, part_count_)};
}

std::vector<size_t> boundary_routes::receivers(const boundary_route& route, size_t maker) const {
  if (route.stays() && (!route.exchanges() || route.is_direct()))
    return {};
  auto result = route.takers;
  std::erase(result, maker);
  return result;
}

} // namespace troupe
