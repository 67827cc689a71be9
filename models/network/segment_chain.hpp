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
// outputs keeps its rows packed by part: R x O_0, then R x O_1, ...
//
// Everything here is a pure function of what lies in `memory`, one batch's: several batches may be
// under way in as many workspaces. What is computed from equal rows has equal bits, whoever does it.

#pragma once

#include "troupe/models/base/batch.hpp"
#include "troupe/models/base/element_window.hpp"
#include "troupe/models/base/workspace.hpp"
#include "troupe/models/layers/dense.hpp"
#include "troupe/models/math/reduction.hpp"
#include "troupe/models/math/tree_accumulator.hpp"
#include "troupe/models/network/chain_layout.hpp"
#include "troupe/models/network/layer_cuts.hpp"

#include <span>
#include <utility>
#include <vector>

namespace troupe {

class segment_chain : public chain_layout {
public:
  /// `dropout`: of hidden units, in [0, 1). `reads_sparse`: as chain_layout has it.
  segment_chain(std::vector<dense_layer> layers, std::span<const layer_cut> cuts, size_t part_count,
                double dropout, bool reads_sparse = false)
    : chain_layout(std::move(layers), cuts, part_count, reads_sparse), dropout_(dropout) {}

  double dropout() const { return dropout_; }

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
  void forward(size_t k, size_t t, const windowed_values& parameters, const batch& rows, bool drops,
               workspace& memory, std::span<float> out) const;
  /// Makes some rows of output(k), in place, from the sum over the parts.
  void finish(size_t k, const windowed_values& parameters, std::span<float> values) const;

  // ---- Backward ----

  /// From delta(k): the part's share of the derivative by what segment k reads (R x I) to `out`; for
  /// segment 0 there is none, `out` is empty.
  void backward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
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
  size_t behind_layers(size_t slot) const;
  /// For the right child of a node over so many parts.
  std::span<float> scratch(size_t parts, size_t size, workspace& memory) const;
  /// The slot's rows of a layer that lie there for part `t`.
  std::span<float> rows_of(size_t slot, size_t layer, size_t t, const batch& rows,
                           workspace& memory) const;
  bool drops_after(size_t layer) const { return dropout_ > 0 && layer + 1 < layers().size(); }
  void enter_layer(size_t layer, size_t t, const batch& rows, bool drops, workspace& memory) const;
  /// What the layer behind reads.
  std::span<const float> entered(size_t layer, size_t t, bool drops, const batch& rows,
                                 workspace& memory) const;
  /// What part t of segment k reads.
  std::span<const float> input(size_t k, size_t t, bool drops, const batch& rows,
                               workspace& memory) const;
  void leave_layer(size_t layer, size_t t, size_t first_row, const batch& rows, workspace& memory,
                   std::span<float> delta) const;

  double dropout_;
};

} // namespace troupe
