// Gradient span: a model that gradients move, one by one or several together.
//
//   hold(gradient) .. hold(gradient) --apply(count)--> the next parameters, and optimizer state
//
// A gradient is a sum over samples. `apply` adds the first `count` gradients that are held along a tree and applies the
// optimizer to their mean over all their samples, in one sweep. As a span model (span_model.hpp) each task pins the
// parameters that it began with: delay compensation corrects a late gradient by what moved since
// (models/merging/delay_compensation.hpp). Applications have it behind `gradients_coordinator` and
// `asynchronous_coordinator`.

#pragma once

#include "coordinators/modes/span_model.hpp"
#include "models/math/reduction.hpp"
#include "models/merging/delay_compensation.hpp"
#include "models/training/regularization.hpp"

#include <deque>
#include <optional>

namespace troupe {

struct gradient_span_options {
  optimizer_options optimizer = {};
  direction way = direction::descent;
  std::optional<delay_compensation_options> compensation = std::nullopt;
  size_t held_max = 0;        ///< gradients that may be held when it is saved
  uint64_t first_element = 0; ///< of the span, among all parameters
};

class gradient_span final : public span_model {
public:
  /// Throws std::invalid_argument for constants out of range.
  explicit gradient_span(const gradient_span_options& options);

  /// From these parameters (P), with a new optimizer state and these changes of each mean gradient. What is held stays;
  /// no task is open. Throws std::invalid_argument for a value that is not finite.
  void begin(const const_buffer& parameters, regularization changes);

  /// A gradient (P), summed over `sample_count` samples; `step_scale` in (0, 1] shortens the step of what it is applied
  /// with, as the mean over all samples.
  void hold(const_buffer gradient_sum, uint64_t sample_count, double step_scale = 1);
  /// A copy of these values, to hold: in memory that is used again.
  const_buffer copy_of(std::span<const float> values) const;
  /// Applies the first `count` >= 1 gradients that are held. False: a parameter would not be finite; these gradients are
  /// dropped, the parameters stay, the optimizer's state begins anew.
  bool apply(size_t count);
  void clear_held() { held_.clear(); }
  size_t held_count() const override { return held_.size(); }
  uint64_t update_count() const { return update_count_; }

  span_vectors give(const sequence_entry& task) override;
  void take(const sequence_entry& task, const span_vectors& update) override;
  void drop(const sequence_entry& task) override { pins_.erase(task.number); }
  bool close(const sequence_entry&) override { return held_.empty() || apply(held_.size()); }
  const_buffer parameters() const override { return parameters_; }

  static state_shape shape_of(const gradient_span_options& options);
  /// Throws std::logic_error when more is held than may be.
  void save(state_saver& out) const override;
  /// After `begin`.
  void load(state_loader& in) override;

private:
  struct held_gradient {
    const_buffer gradient_sum;
    uint64_t sample_count = 0;
    double step_scale = 1;
  };

  /// Clipping by norm: writes the sum to `out`, and returns the factor of its norm.
  float reduce_for_norm(const reduction_plan& plan, std::span<const std::span<const float>> inputs,
                        float gradient_factor, std::span<float> out);

  gradient_span_options options_;
  std::unique_ptr<optimizer> rule_;
  regularization changes_;
  delay_compensation compensation_;
  std::unique_ptr<buffer_pool> pool_; ///< of parameters and gradients alike
  const_buffer parameters_;
  optimizer_state state_;
  std::deque<held_gradient> held_;
  std::map<uint64_t, const_buffer> pins_; ///< parameters that each open task began with
  reducer reducer_;
  uint64_t update_count_ = 0;
  uint64_t optimizer_step_ = 0; ///< updates since the optimizer's state last began anew
};

} // namespace troupe
