// What is known of a chain's segments and parts, and where the parameters of each lie (segment_chain.hpp).

#pragma once

#include "models/base/index_range.hpp"
#include "models/segments/layer_cuts.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

struct chain_segment {
  layer_segment layers;
  size_t in_width = 0;                           ///< I
  size_t out_width = 0;                          ///< O
  std::vector<std::optional<size_t>> part_sizes; ///< parameters of each part that exists
  size_t common_size = 0;                        ///< of what all parts have in common
};

class chain_facts {
public:
  chain_facts(std::vector<chain_segment> segments, size_t part_count)
    : segments_(std::move(segments)),
      part_count_(part_count),
      tiles_(segments_.size(), std::vector<index_range>(part_count + 1)) {
    for (const auto& x : segments_)
      layers_.push_back(x.layers);
    size_t next = 0;
    for (size_t t = 0; t <= part_count_; ++t)
      for (size_t k = 0; k < size(); ++k) {
        const auto size =
          t < part_count_ ? segments_[k].part_sizes[t].value_or(0) : segments_[k].common_size;
        tiles_[k][t] = {next, next + size};
        next += size;
      }
  }

  size_t size() const { return segments_.size(); }
  size_t part_count() const { return part_count_; }
  const layer_segment& segment(size_t k) const { return layers_[k]; }
  const std::vector<layer_segment>& segments() const { return layers_; }
  size_t in_width(size_t k) const { return segments_[k].in_width; }
  size_t out_width(size_t k) const { return segments_[k].out_width; }
  bool exists(size_t k, size_t t) const { return segments_[k].part_sizes[t].has_value(); }
  /// Whether what is behind the segment is a sum over its parts. Else it is one part's alone, or lies
  /// packed by part: the scores of a last layer cut by outputs.
  bool adds_parts(size_t k) const { return layers_[k].cut == layer_cut::inputs; }
  bool splits_scores() const { return layers_.back().cut == layer_cut::outputs; }

  /// Of a part that exists, or what all have in common (t = part_count()), in working order.
  index_range tile(size_t k, size_t t) const { return tiles_[k][t]; }
  /// Calls visit(k, t, elements) for each tile, segment by segment.
  template <class Visit>
  void for_each_tile(const Visit& visit) const {
    for (size_t k = 0; k < size(); ++k)
      for (size_t t = 0; t <= part_count_; ++t)
        if (!tiles_[k][t].empty())
          visit(k, t, tiles_[k][t]);
  }

private:
  std::vector<chain_segment> segments_;
  std::vector<layer_segment> layers_;
  size_t part_count_;
  std::vector<std::vector<index_range>> tiles_; ///< by segment and part, the common one last
};

} // namespace troupe
