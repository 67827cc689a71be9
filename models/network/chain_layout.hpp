// Chain layout: a network's layers as segments and parts, and where the parameters of each lie.
//
// At a seam, between two segments, activations are whole (layer_cuts.hpp). Parts without units do not
// exist; a segment that is not cut is a single part, 0.
//
// Parameters lie in *working order*: part by part, in each segment by segment, so that what one
// actor carries is contiguous and products need no strides; behind them what segments have but once,
// the biases of layers cut by inputs. With one part that is the logical order of files. A *tile* is
// what a part of a segment has, or what all its parts have in common.

#pragma once

#include "troupe/models/layers/dense.hpp"
#include "troupe/models/network/layer_cuts.hpp"
#include "troupe/models/network/parameter_layout.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

class chain_layout {
public:
  /// `cuts`: of each layer, without a problem (layer_cuts.hpp). `reads_sparse`: layer 0 is one for
  /// sparse rows, and is not cut; else throws std::invalid_argument.
  chain_layout(std::vector<dense_layer> layers, std::span<const layer_cut> cuts, size_t part_count,
               bool reads_sparse = false);

  size_t size() const { return segments_.size(); }
  size_t part_count() const { return part_count_; }
  /// Whether batches have sparse rows.
  bool reads_sparse() const { return reads_sparse_; }
  const layer_segment& segment(size_t k) const { return segments_[k]; }
  const std::vector<layer_segment>& segments() const { return segments_; }
  const std::vector<dense_layer>& layers() const { return layers_; }
  size_t in_width(size_t k) const { return layers_[segments_[k].first_layer].inputs; }
  size_t out_width(size_t k) const { return layers_[segments_[k].last_layer()].outputs; }
  /// Units of a layer cut by outputs, or inputs of one cut by inputs, that are part `t`'s.
  index_range units(size_t layer, size_t t) const;
  bool exists(size_t k, size_t t) const;
  layer_cut cut(size_t layer) const { return cuts_[layer]; }
  /// Whether what is behind the segment is a sum over its parts. Else it is one part's alone, or lies
  /// packed by part: the scores of a last layer cut by outputs.
  bool adds_parts(size_t k) const { return segments_[k].cut == layer_cut::inputs; }
  bool splits_scores() const { return segments_.back().cut == layer_cut::outputs; }

  // ---- Parameters, in working order ----

  /// Of a part that exists, or what all have in common (t = part_count()).
  index_range tile(size_t k, size_t t) const { return tiles_[k][t]; }
  /// Calls visit(k, t, elements) for each tile, segment by segment.
  template <class Visit>
  void for_each_tile(const Visit& visit) const {
    for (size_t k = 0; k < size(); ++k)
      for (size_t t = 0; t <= part_count_; ++t)
        if (!tiles_[k][t].empty())
          visit(k, t, tiles_[k][t]);
  }
  /// Where the tensors of each layer lie: its weight is tensor `weight(layer)`, its bias the next.
  std::vector<layout_piece> pieces(const std::function<size_t(size_t layer)>& weight) const;

protected:
  /// Part `t` of a layer, as a layer. Its activation is left to whoever reads the rows where the
  /// derivative needs what was before it, and where parts are to be added first.
  dense_layer shape(size_t layer, size_t t) const;

private:
  size_t part_size(size_t k, size_t t) const;
  size_t common_size(size_t k) const;

  std::vector<dense_layer> layers_;
  std::vector<layer_cut> cuts_;
  std::vector<layer_segment> segments_;
  size_t part_count_;
  bool reads_sparse_;
  std::vector<std::vector<index_range>> tiles_; ///< by segment and part, the common one last
};

} // namespace troupe
