// A chain of layers (models/layers/layer.hpp) and a loss on what the last one gives: convolutional
// networks and transformers. `kind = "chain"` in a job (models/kinds/chain_kind.hpp). Tensors are called
// `layers.N.weight`, N the number of the step: layers count, and so do the ends of residual blocks.

#pragma once

#include "models/network/chained_model.hpp"
#include "models/network/parameter_layout.hpp"
#include "models/segments/layer_run.hpp"
#include "models/segments/segment_chain.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// A chain of layers as segments (segment_chain.hpp).
//
// Pipelines cut a chain between its blocks: a block is a layer with those without parameters behind it, or
// a residual block. With several parts, a residual block is computed in parts if its last layers are an
// attention, or two dense layers, the second without activation (a *pair*). It becomes two segments, or one
// when nothing stands before the pair:
//
//   [ what stands before, whole ] -- rows [y | x], side by side --> [ the pair, in parts ]
//
// So the replica that finishes the sum over the parts, with its bias and the x that passes by, has x at
// hand. And a replica with the derivative of all rows takes the gradient of what stands before.

/// What is computed as one segment, or two.
struct chain_block {
  std::vector<chain_step> steps; ///< values counted from what the block reads
};

/// A segment as it is computed.
struct run_segment {
  chain_segment facts;
  std::vector<std::optional<layer_run>> runs; ///< by part
  std::vector<layout_piece> pieces;    ///< of its parameters but the common ones, part by part
  std::vector<size_t> piece_parts;     ///< whose each is
  std::optional<size_t> common_tensor; ///< a bias that is added when all parts are
  bool carries = false;                ///< its rows are [y | x]
  bool reads_carried = false;          ///< it reads y of such rows
  size_t read_width = 0;               ///< values of a row that the runs read, of a pair
  bool passes = false;                 ///< x is added to the sum over its parts
};

class layer_segments : public segment_chain {
public:
  /// Tensors count up from 0, step by step. Throws std::invalid_argument for blocks that do not fit each
  /// other or the features, and for none.
  layer_segments(std::vector<chain_block> blocks, size_t feature_count, size_t part_count);

  /// Where the working order has each tensor (parameter_layout.hpp).
  std::vector<layout_piece> pieces() const;
  bool is_random() const;
  bool runs_on_devices() const override;
  uint64_t device_scratch(size_t rows) const override;

  std::vector<size_t> layer_widths() const override;
  std::vector<layer_cut> cuts_of(size_t k) const override;
  uint64_t multiply_adds(size_t k, const index_range& parts) const override;
  uint64_t memory_floats(const index_range& segments, size_t rows, size_t derived) const override;

  std::span<float> output(size_t k, const batch& rows, workspace& memory) const override;
  std::span<float> output(size_t k, size_t t, const batch& rows, workspace& memory) const override;
  std::span<float> delta(size_t k, const batch& rows, workspace& memory) const override;
  std::span<float> delta(size_t k, size_t t, const batch& rows, workspace& memory) const override;
  index_range score_units(size_t t) const override {
    return {0, t == 0 ? out_width(size() - 1) : 0};
  }
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
  layer_segments(std::vector<run_segment> made, size_t part_count);

  size_t own_slot_count() const override { return slot_count_; }
  size_t slot_of(size_t k, size_t which) const { return first_slots_[k] + which; }
  size_t run_slot(size_t k, size_t t) const;
  /// What the runs of segment k read.
  std::span<const float> input(size_t k, const batch& rows, workspace& memory) const;
  run_call call_of(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                   bool trains, workspace& memory) const;
  std::span<float> gradient_slot(size_t k, size_t t, workspace& memory) const;

  std::vector<run_segment> made_;
  std::vector<size_t> first_slots_;
  size_t shared_slot_ = 0;
  size_t slot_count_ = 0;
};

class layer_chain : public chained_model {
public:
  /// The last block gives C scores a row. `parts`: in which pairs are computed (layer_segments).
  /// Throws std::invalid_argument when blocks do not fit each other, F or C, when there is nothing to
  /// learn, and for no parts.
  layer_chain(size_t feature_count, size_t output_count, loss_options loss,
              std::vector<chain_block> blocks, size_t parts = 1);

  const layer_segments& chain() const override { return chain_; }
  bool is_random() const override { return chain_.is_random(); }
  axis_order torch_order(size_t tensor) const override { return tensors_.at(tensor).torch; }

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override;

  std::vector<layer_tensor> tensors_; ///< of all layers; their names are those in files
  layer_segments chain_;
};

} // namespace troupe
