// Cuts: how inner products of a chain of dense layers are cut in parts, as a part of the job.
//
// Floating-point sums depend on how they are cut, and products on the shapes of their operands. So a
// job says in how many parts its layers are computed: one actor that carries all parts does the same
// work, in the same shapes, as many that carry one each.
//
//   outputs  part t computes its share of the layer's units        (column-parallel)
//   inputs   part t multiplies its share of the layer's inputs; the products are added along the
//            canonical tree over the parts                         (row-parallel)
//   none     the layer is computed whole
//
// After a layer cut by outputs each part has its own units only. So the layer behind it is cut by
// inputs, or there is none; a layer cut by inputs stands behind one cut by outputs, or is the first.
// Activations are whole between such pairs: a *segment* is what lies between two such places.

#pragma once

#include "models/base/names.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

enum class layer_cut : uint8_t { none, outputs, inputs };

template <>
struct name_table<layer_cut> {
  static constexpr std::array entries{named(layer_cut::none, "none"),
                                      named(layer_cut::outputs, "outputs"),
                                      named(layer_cut::inputs, "inputs")};
};

/// Layers between two places where activations are whole: a pair cut by outputs and inputs, or one
/// layer.
struct layer_segment {
  size_t first_layer = 0;
  size_t layer_count = 1;
  layer_cut cut = layer_cut::none; ///< of its last layer

  size_t last_layer() const { return first_layer + layer_count - 1; }
  friend bool operator==(const layer_segment&, const layer_segment&) = default;
};

/// More would leave parts too small to be worth it.
inline constexpr size_t part_count_max = 64;

/// Where part `part` of `count` things begins when they are cut in `parts`: floor(part count / parts).
constexpr size_t part_begin(size_t part, size_t count, size_t parts) {
  return part * count / parts;
}

/// The cut of each layer, at least one of them cut, that costs least, in multiply-adds a row: work that
/// is repeated where a layer is not cut, sums that are exchanged where it is, and what the largest part
/// has beyond its share. `widths`: features, hidden units, outputs. Whole numbers: every machine finds
/// the same. With one part no layer is cut; a single score is never cut by outputs.
std::vector<layer_cut> cheapest_cuts(std::span<const size_t> widths, size_t parts);

/// Why these are no cuts of `layer_count` layers; empty when they are.
std::string cut_problem(std::span<const layer_cut> cuts, size_t layer_count);

/// The segments of layers that are cut so; `cuts` must have no problem.
std::vector<layer_segment> segments_of(std::span<const layer_cut> cuts);

/// The default number of parts: as many as leave the narrowest hidden layer 512 units a part, a
/// power of two of at most 8; with less than 1,024 units, or without hidden layers, 1. Cutting such
/// layers costs nothing (docs/parallel.md).
size_t default_part_count(std::span<const size_t> hidden);

} // namespace troupe
