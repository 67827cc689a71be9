// Model split: how a model is shared by the replicas of a group, and where in it lies what each of
// them contributes. It is placement: no bit of the result depends on it.

#pragma once

#include "coordinators/parallel/grid.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Parameters whose gradient one replica of a group contributes: whoever carries this part of this
/// segment. What all parts have in common is contributed with part 0.
struct split_tile {
  size_t segment = 0;
  size_t part = 0;
  index_range elements; ///< of the model

  bool is_of(const partition& work) const {
    return work.segments.contains(segment) && work.parts.contains(part);
  }
  friend bool operator==(const split_tile&, const split_tile&) = default;
};

/// As it is by default: the model is not split.
struct model_split {
  grid_shape shape; ///< `data`: groups that are wanted
  size_t part_count = 1;
  std::vector<uint64_t> segment_costs;
  std::vector<size_t> stages;
  std::vector<index_range> layers; ///< of each segment
  std::vector<split_tile> tiles;   ///< all of the model's, in order of their elements
  bool sharded = false;            ///< replicas compute whole models, tile by tile

  bool splits() const { return shape.group_size() > 1 || sharded; }
  friend bool operator==(const model_split&, const model_split&) = default;
};

/// "3", "0-3": the last is named, too.
std::string range_text(const index_range& x);

/// "slices 0-3, layers 0-1, part 0 of 2", without a part where layers are not cut; "spare" of one who
/// carries nothing.
std::string partition_text(const partition& work, const model_split& split);

} // namespace troupe
