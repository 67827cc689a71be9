// A step of a whole-model rule: what `reducer::reduce_and_update` is to element-wise rules.
//
// Gradients are added along the tree into one buffer, divided by the samples, clipped and given
// their penalties there, and the rule sees the whole of it.

#pragma once

#include "troupe/models/math/reduction.hpp"
#include "troupe/models/whole_model/whole_model_rule.hpp"

#include <optional>
#include <span>

namespace troupe {

/// The factor that turns a gradient summed over samples into the mean: rounded once.
inline float mean_factor(uint64_t sample_count) {
  return static_cast<float>(1 / static_cast<double>(sample_count));
}

/// What is known of a step. All spans are of the whole model (P).
struct whole_model_step {
  uint64_t step = 0;                              ///< counted from 0
  const reduction_plan& plan;                     ///< how to add
  std::span<const std::span<const float>> inputs; ///< gradients summed over samples
  batch_sums total;                               ///< of all inputs
  const regularization& changes;                  ///< of the mean gradient
  float norm_factor = 1;                          ///< of the step
  std::span<const float> parameters;              ///< of version `step`
  std::span<float> next;                          ///< of the next version
};

/// Not thread-safe: one for each thread; keeps its scratch.
class whole_model_stepper {
public:
  /// As whole_model_rule::update.
  std::optional<batch_sums> run(const whole_model_rule& rule, const whole_model_step& x,
                                optimizer_state& state);

private:
  reducer reducer_;
  buffer gradient_;
};

} // namespace troupe
