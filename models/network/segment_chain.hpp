// A chain of segments: a network's layers as the parts that actors carry, and how they are computed.
//
//   x_0 --> [segment 0] -- seam 0 --> [segment 1] -- seam 1 --> ... [segment n-1] --> scores
//             parts t                    parts t
//
// At a seam activations are whole. What lies there are a layer's values as its derivative needs
// them: behind the activation as a rule, before it for gelu and silu. Whoever reads them *enters*
// the next segment: applies what is missing of the activation, and dropout. On the way back it
// *derives*: takes the derivative by what it read to the derivative behind the segment before.
//
// Shapes: R rows, I and O a segment's inputs and outputs, O_t the units of part t. A layer cut by
// outputs keeps its rows packed by part: R x O_0, then R x O_1, ... Parts without units do not exist;
// a segment that is not cut is a single part, 0.
//
// Parameters lie in *working order*: part by part, in each segment by segment, so that what one
// actor carries is contiguous and products need no strides; behind them what segments have but once,
// the biases of layers cut by inputs. With one part that is the logical order of files. A *tile* is
// what a part of a segment has, common to all parts or not.
//
// Everything here is a pure function of what lies in `memory`, one batch's: several batches may be
// under way in as many workspaces. What is computed from equal rows has equal bits, whoever does it.

#pragma once

#include "troupe/models/base/batch.hpp"
#include "troupe/models/base/workspace.hpp"
#include "troupe/models/layers/dense.hpp"
#include "troupe/models/math/reduction.hpp"
#include "troupe/models/math/tree_accumulator.hpp"
#include "troupe/models/network/layer_cuts.hpp"
#include "troupe/models/network/parameter_layout.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

class segment_chain {
public:
  /// `cuts`: of each layer, without a problem (layer_cuts.hpp).
  segment_chain(std::vector<dense_layer> layers, std::span<const layer_cut> cuts, size_t part_count,
                double dropout);

  // ---- Shape ----

  size_t size() const { return segments_.size(); }
  size_t part_count() const { return part_count_; }
  const layer_segment& segment(size_t k) const { return segments_[k]; }
  const std::vector<layer_segment>& segments() const { return segments_; }
  const std::vector<dense_layer>& layers() const { return layers_; }
  double dropout() const { return dropout_; }
  size_t in_width(size_t k) const { return layers_[segments_[k].first_layer].inputs; }
  size_t out_width(size_t k) const { return layers_[segments_[k].last_layer()].outputs; }
  /// Units of a layer cut by outputs, or inputs of one cut by inputs, that are part `t`'s.
  index_range units(size_t layer, size_t t) const;
  bool exists(size_t k, size_t t) const;
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

  // ---- Rows in memory ----

  /// The rows behind segment k as its derivative needs them (R x O); scores behind the last.
  std::span<float> output(size_t k, const batch& rows, workspace& memory) const;
  /// Those of them that part `t` alone makes.
  std::span<float> output(size_t k, size_t t, const batch& rows, workspace& memory) const;
  /// The derivative behind segment k, before its activation (R x O).
  std::span<float> delta(size_t k, const batch& rows, workspace& memory) const;
  std::span<float> delta(size_t k, size_t t, const batch& rows, workspace& memory) const;

  /// Scores in order of their units (R x C).
  std::span<const float> whole_scores(const batch& rows, workspace& memory) const;
  /// Slots of `memory` from this one on are free.
  size_t slot_count() const;

  // ---- Forward ----

  /// Makes what segment k reads from what is behind the one before. `drops`: as training does.
  void enter(size_t k, const batch& rows, bool drops, workspace& memory) const;
  /// `out`: the part's product (R x O) where parts are added, else its rows of output(k).
  void forward(size_t k, size_t t, std::span<const float> parameters, const batch& rows, bool drops,
               workspace& memory, std::span<float> out) const;
  /// Makes some rows of output(k), in place, from the sum over the parts.
  void finish(size_t k, std::span<const float> parameters, std::span<float> values) const;

  // ---- Backward ----

  /// From delta(k): the part's share of the derivative by what segment k reads (R x I) to `out`; for
  /// segment 0 there is none, `out` is empty.
  void backward(size_t k, size_t t, std::span<const float> parameters, const batch& rows,
                workspace& memory, std::span<float> out) const;
  /// Takes rows of the derivative by what segment k > 0 reads, from `first_row` on, in place to those
  /// behind the segment before.
  void derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
              std::span<float> values) const;
  /// The gradient of tile(k, t), to `out` (its size).
  void gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                std::span<float> out) const;

  /// Adds what compute(part, out) writes for each existing part of [begin, end), a node of the tree over
  /// all, along that tree. False when no part exists; then `out` is not written.
  template <class Compute>
  bool add_parts(size_t k, size_t begin, size_t end, std::span<float> out, workspace& memory,
                 const Compute& compute) const {
    if (end - begin == 1) {
      if (exists(k, begin))
        compute(begin, out);
      return exists(k, begin);
    }
    const auto middle = begin + left_size(end - begin);
    const bool left = add_parts(k, begin, middle, out, memory, compute);
    const auto other = left ? scratch(end - begin, out.size(), memory) : out;
    const bool right = add_parts(k, middle, end, other, memory, compute);
    if (left && right)
      add_into(out, other);
    return left || right;
  }

private:
  size_t part_size(size_t k, size_t t) const;
  size_t common_size(size_t k) const;
  size_t behind_layers(size_t slot) const;
  /// For the right child of a node over so many parts.
  std::span<float> scratch(size_t parts, size_t size, workspace& memory) const;
  dense_layer shape(size_t layer, size_t t) const;
  /// The slot's rows of a layer that lie there for part `t`.
  std::span<float> rows_of(size_t slot, size_t layer, size_t t, const batch& rows,
                           workspace& memory) const;
  bool drops_after(size_t layer) const { return dropout_ > 0 && layer + 1 < layers_.size(); }
  bool is_entered(size_t layer) const;
  void enter_layer(size_t layer, size_t t, const batch& rows, bool drops, workspace& memory) const;
  /// What the layer behind reads.
  std::span<const float> entered(size_t layer, size_t t, bool drops, const batch& rows,
                                 workspace& memory) const;
  /// What part t of segment k reads.
  std::span<const float> input(size_t k, size_t t, bool drops, const batch& rows,
                               workspace& memory) const;
  void leave_layer(size_t layer, size_t t, size_t first_row, const batch& rows, workspace& memory,
                   std::span<float> delta) const;

  std::vector<dense_layer> layers_;
  std::vector<layer_cut> cuts_;
  std::vector<layer_segment> segments_;
  size_t part_count_;
  double dropout_;
  std::vector<std::vector<index_range>> tiles_; ///< by segment and part, the common one last
};

} // namespace troupe
