// A step of a whole-model rule: what `reducer::reduce_and_update` is to element-wise rules.
//
// The sum of a span's gradient becomes the mean with its clipping and penalties, in place, and each of
// its blocks numbers: whether it was finite, its penalty, and the terms of the rule's sums. With the
// totals over all blocks of the model the rule moves the span.

#pragma once

#include "models/training/regularization.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// The factor that turns a gradient summed over samples into the mean: rounded once.
inline float mean_factor(uint64_t sample_count) {
  return static_cast<float>(1 / static_cast<double>(sample_count));
}

/// What is known of a step. All spans are of the same elements (P), which begin with a block.
struct whole_model_step {
  uint64_t step = 0;                 ///< counted from 0
  batch_sums total;                  ///< of the whole gradient
  const regularization& changes;     ///< of the mean gradient
  float norm_factor = 1;             ///< of the step
  size_t first_element = 0;          ///< where the spans are in the model
  std::span<float> gradient;         ///< summed over samples; then the mean, changed
  std::span<const float> parameters; ///< of version `step`
  std::span<float> next;             ///< of the next version
};

/// Numbers of a block.
size_t block_number_count(const whole_model_rule& rule);

/// The first half: the gradient is changed. Returns the numbers of each block (block_number_count).
std::vector<double> begin_step(const whole_model_rule& rule, const whole_model_step& x,
                               const optimizer_state& state);

/// True when the gradient was finite wherever these numbers, or totals of them, are from.
bool blocks_are_finite(std::span<const double> numbers);

/// The second half: as whole_model_rule::update. `totals`: of the numbers of all blocks of the model.
std::optional<batch_sums> end_step(const whole_model_rule& rule, const whole_model_step& x,
                                   std::span<const double> totals, optimizer_state& state);

} // namespace troupe
