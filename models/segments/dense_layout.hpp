// How dense layers are cut in parts, and where the parameters of each lie.
//
// Parts without units do not exist; a layer that is not cut is a single part, 0. In working order
// (segment_chain.hpp) a part has its layers one behind the other, each a weight and, unless it is cut by
// inputs, a bias.

#pragma once

#include "models/layers/dense.hpp"
#include "models/network/parameter_layout.hpp"
#include "models/segments/chain_facts.hpp"
#include "models/segments/layer_cuts.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

class dense_layout {
public:
  /// `cuts`: of each layer, without a problem (layer_cuts.hpp). `reads_sparse`: layer 0 is one for
  /// sparse rows, and is not cut; else throws std::invalid_argument.
  dense_layout(std::vector<dense_layer> layers, std::span<const layer_cut> cuts, size_t part_count,
               bool reads_sparse = false);

  size_t part_count() const { return part_count_; }
  bool reads_sparse() const { return reads_sparse_; }
  const std::vector<dense_layer>& layers() const { return layers_; }
  layer_cut cut(size_t layer) const { return cuts_[layer]; }
  const std::vector<layer_segment>& segments() const { return segments_; }
  /// Units of a layer cut by outputs, or inputs of one cut by inputs, that are part `t`'s.
  index_range units(size_t layer, size_t t) const;
  /// Part `t` of a layer, as a layer. Its activation is left to whoever reads the rows where the
  /// derivative needs what was before it, and where parts are to be added first.
  dense_layer shape(size_t layer, size_t t) const;
  /// What a chain of segments is to know of each.
  std::vector<chain_segment> chain_segments() const;
  /// Where the tensors of each layer lie: its weight is tensor `weight(layer)`, its bias the next.
  std::vector<layout_piece> pieces(const std::function<size_t(size_t layer)>& weight) const;

private:
  bool exists(const layer_segment& segment, size_t t) const {
    return !units(segment.last_layer(), t).empty();
  }
  size_t part_size(const layer_segment& segment, size_t t) const;
  size_t common_size(const layer_segment& segment) const;

  std::vector<dense_layer> layers_;
  std::vector<layer_cut> cuts_;
  std::vector<layer_segment> segments_;
  size_t part_count_;
  bool reads_sparse_;
};

} // namespace troupe
