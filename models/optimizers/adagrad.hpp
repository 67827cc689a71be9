// AdaGrad (Duchi, Hazan & Singer 2011, figure 1 with a diagonal matrix).
//
// With g the mean gradient, a the learning rate; state s, 0 at first:
//   s' = s + g^2;  p' = p - a g / (sqrt(s') + epsilon)
//
// epsilon is the paper's delta: without it a parameter that has seen no gradient would be 0 / 0.

#pragma once

#include "models/base/multiversion.hpp"
#include "models/optimizers/optimizer.hpp"

#include <cmath>

namespace troupe {

struct adagrad {
  static constexpr auto kind = optimizer_kind::adagrad;
  static constexpr size_t slot_count = 1; ///< s

  adagrad(const optimizer_options& x, const update_step& step)
    : rate(step.learning_rate), epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& s) const {
    s += g * g;
    return p - rate * g / (std::sqrt(s) + epsilon);
  }

  float rate;
  float epsilon;
};

} // namespace troupe
