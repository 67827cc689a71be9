// Layers that are computed one behind the other by one actor: of one part of a segment, or of a segment
// that is not cut (models/network/layer_chain.hpp).
//
// A step is a layer, or adds an earlier value to what came last: a residual block is its layers and such
// a step.
//
//   values    0 (what is read)  1  2 ...    one behind each step; all kept until the gradient is taken
//   backward  from the last step down: a step's own gradient is taken right after it is walked through,
//             so that two buffers of derivatives do for all

#pragma once

#include "models/layers/layer.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

struct chain_step {
  std::unique_ptr<layer> does; ///< null: the value before is added to another one
  size_t adds = 0; ///< which, when `does` is null: a number of a value, of the same size
};

/// Slots that runs share: two buffers of derivatives, and what layers use.
inline constexpr size_t shared_slots = 2 + scratch_slots;

/// Where a run works.
struct run_call {
  std::span<const float> parameters; ///< of its layers, one behind the other
  const batch& rows;
  bool trains = false;
  workspace& memory;
  size_t first_slot = 0;  ///< of the run's own slots
  size_t shared_slot = 0; ///< of those behind all runs': free between two calls
};

/// Shapes: R rows, I values of a row in, O out.
class layer_run {
public:
  /// `first_number`: of the first step in its chain. Throws std::invalid_argument when steps do not fit
  /// each other or the rows.
  layer_run(std::vector<chain_step> steps, size_t first_number, size_t input_size);

  const std::vector<chain_step>& steps() const { return steps_; }
  size_t output_size() const { return values_.empty() ? input_size_ : values_.back(); }
  size_t parameter_count() const { return parameter_count_; }
  /// Of the run's own, from `first_slot` on.
  size_t slot_count() const { return 2 * steps_.size() + saved_count_; }
  bool is_random() const;
  bool runs_on_devices() const;
  uint64_t device_scratch(size_t rows) const;
  /// Multiply-adds of a row, forward.
  uint64_t multiply_adds() const;
  /// Floats of the run's own slots, of `rows` rows forward and `derived` on the way back.
  uint64_t memory_floats(size_t rows, size_t derived) const;
  /// The widest value, and what is read: of a row.
  size_t widest() const;

  /// y (R x O) is written, from x (R x I).
  void forward(const run_call& call, std::span<const float> x, std::span<float> y) const;
  /// From x and y of `forward` and dy (R x O), which stays: dx (R x I), unless it is empty, and the
  /// gradient (parameter_count).
  void backward(const run_call& call, std::span<const float> x, std::span<const float> y,
                std::span<const float> dy, std::span<float> dx, std::span<float> gradient) const;

private:
  layer_call call_of(const run_call& call, size_t step) const;
  /// Value `number`; the first and the last are the caller's.
  std::span<const float> value(const run_call& call, size_t number, std::span<const float> x,
                               std::span<const float> y) const;
  size_t value_size(size_t number) const { return number == 0 ? input_size_ : values_[number - 1]; }

  std::vector<chain_step> steps_;
  size_t first_number_;
  size_t input_size_;
  std::vector<size_t> values_;  ///< floats a row behind each step
  std::vector<size_t> offsets_; ///< of each step's parameters
  std::vector<size_t> saved_; ///< of a step that adds: the slot of the derivative that passes it by
  size_t saved_count_ = 0;
  size_t parameter_count_ = 0;
  size_t first_learning_; ///< the first step with parameters
};

} // namespace troupe
