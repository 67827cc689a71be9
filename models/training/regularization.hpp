// Changes of the mean gradient before an optimizer sees it: clipping, then penalties.
//
// With g the mean gradient of a parameter p (design: clip first, so that a penalty is never cut):
//   clip_value c:  g := min(max(g, -c), c)
//   clip_norm c:   g := g c / |g| when the norm |g| over the whole model is above c, else g
//                  (Pascanu, Mikolov & Bengio 2013)
//   l1, l2:        g := g + l2 p + l1 sign(p), p not in a bias; sign(0) = 0. Both: elastic net.
// They are the gradients of l1 |p| and l2/2 p^2. Of tensors, those whose name ends in ".bias" are
// excluded: a penalty there would shift the model instead of smoothing it.
//
// The norm of a model that is cut into parts is summed from blocks of a fixed size, so that it does
// not depend on the parts' owners: `square_sum` is one block's share.

#pragma once

#include "models/base/index_range.hpp"
#include "models/math/tree_accumulator.hpp"
#include "models/network/parameter_layout.hpp"
#include "models/optimizers/optimizer_options.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// The elements penalties apply to: all tensors but biases and frozen ones, neighbours joined, in order.
std::vector<index_range> penalized_ranges(const parameter_layout& layout,
                                          const std::vector<index_range>& frozen = {});

class regularization {
public:
  /// Changes nothing.
  regularization() = default;

  /// `frozen`: elements that an update leaves as they are, whatever the rule does to a parameter without a gradient.
  /// Throws std::invalid_argument for a negative option, or for clip_value beside clip_norm.
  regularization(const optimizer_options& options, std::vector<index_range> penalized,
                 std::vector<index_range> frozen = {});

  /// True when gradients are to be changed.
  bool active() const noexcept { return clips() || penalizes(); }
  bool clips() const noexcept { return clip_value_ > 0 || clip_norm_ > 0; }
  bool penalizes() const noexcept { return l1_ > 0 || l2_ > 0; }

  /// The greatest norm of the mean gradient; 0: no limit, and no norm is needed.
  double norm_max() const noexcept { return clip_norm_; }

  /// The factor on a mean gradient whose squares add up to `square_sum`: 1 up to the limit.
  double norm_factor(double square_sum) const;

  /// What the penalties of these parameters, the first of which is element `offset` of the model, add
  /// to the mean loss: l1 sum |p| + l2/2 sum p^2, in double in fixed lanes.
  double penalty(std::span<const float> parameters, size_t offset = 0) const;

  /// Changes the mean gradient of `gradient.size()` parameters, the first of which is element
  /// `offset` of the model. `norm_factor` is that of the step, 1 without clip_norm.
  void apply(std::span<float> gradient, const float* parameters, size_t offset,
             float norm_factor) const;

  /// Frozen elements of `next`, the first of which is element `offset` of the model, become what they were.
  void hold(std::span<float> next, const float* parameters, size_t offset) const;

private:
  float l1_ = 0;
  float l2_ = 0;
  float clip_value_ = 0;
  double clip_norm_ = 0;
  std::vector<index_range> penalized_; ///< in order, disjoint
  std::vector<index_range> frozen_;    ///< likewise
};

/// out = sum * factor; false when a result is not finite. Look before clipping: it hides infinity.
bool scale(std::span<const float> sum, float factor, std::span<float> out);

/// The squares of a block's mean gradient (sum * factor), added in double in fixed lanes; not
/// finite exactly when an element is not.
double square_sum(std::span<const float> sum, float factor);

/// The squares of a mean gradient (gradient_sum * factor), added block by block; the span starts at
/// a block's first element.
std::vector<double> square_sums_of_blocks(std::span<const float> gradient_sum, float factor);

} // namespace troupe
