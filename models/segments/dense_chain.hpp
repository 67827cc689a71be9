// A network of dense layers as a chain of segments.
//
// At a boundary lie a layer's values as its derivative needs them: behind the activation as a rule, before it
// for gelu and silu. The replica that enters the next segment applies the missing activation, and dropout. A
// layer cut by outputs keeps its rows packed by part: R x O_0, then R x O_1, ..., with O_t the units of part
// t.

#pragma once

#include "models/layers/dense.hpp"
#include "models/network/parameter_layout.hpp"
#include "models/segments/layer_cuts.hpp"
#include "models/segments/segment_chain.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

// How dense layers are cut in parts, and where the parameters of each lie.
//
// Parts without units do not exist; a layer that is not cut is a single part, 0. In working order
// (segment_chain.hpp) a part has its layers one behind the other, each a weight and, unless it is cut by
// inputs, a bias.

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
  /// Part `t` of a layer, as a layer. It leaves the activation to the reader of the rows where the
  /// derivative needs its input, and where parts are to be added first.
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

class dense_chain : public segment_chain {
public:
  /// `dropout`: of hidden units, in [0, 1).
  dense_chain(dense_layout layout, double dropout)
    : segment_chain(layout.chain_segments(), layout.part_count()),
      layout_(std::move(layout)),
      dropout_(dropout) {}

  const dense_layout& layout() const { return layout_; }
  const std::vector<dense_layer>& layers() const { return layout_.layers(); }
  double dropout() const { return dropout_; }

  bool reads_sparse() const override { return layout_.reads_sparse(); }
  bool runs_on_devices() const override { return !reads_sparse(); }
  std::vector<size_t> layer_widths() const override;
  std::vector<layer_cut> cuts_of(size_t k) const override;
  uint64_t multiply_adds(size_t k, const index_range& parts) const override;
  uint64_t memory_floats(const index_range& segments, size_t rows, size_t derived) const override;
  std::optional<size_t> smallest_part() const override;

  std::span<float> output(size_t k, const batch& rows, workspace& memory) const override;
  std::span<float> output(size_t k, size_t t, const batch& rows, workspace& memory) const override;
  std::span<float> delta(size_t k, const batch& rows, workspace& memory) const override;
  std::span<float> delta(size_t k, size_t t, const batch& rows, workspace& memory) const override;
  index_range score_units(size_t t) const override { return layout_.units(layers().size() - 1, t); }
  std::span<const float> whole_scores(const batch& rows, workspace& memory) const override;

  void enter(size_t k, const batch& rows, bool drops, workspace& memory) const override;
  void forward(size_t k, size_t t, const windowed_values& parameters, const batch& rows, bool drops,
               workspace& memory, std::span<float> out) const override;
  void finish(size_t k, size_t first_row, const windowed_values& parameters, const batch& rows,
              workspace& memory, std::span<float> values) const override;
  void backward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                workspace& memory, std::span<float> out) const override;
  void derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
              std::span<float> values) const override;
  void gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                std::span<float> out) const override;

private:
  size_t own_slot_count() const override;
  size_t behind_layers(size_t slot) const;
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

  dense_layout layout_;
  double dropout_;
};

} // namespace troupe
