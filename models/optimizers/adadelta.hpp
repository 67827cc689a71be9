// AdaDelta (Zeiler 2012, algorithm 1), with the constants of the paper's experiments.
//
// With g the mean gradient, a the learning rate; state s (mean square of g) and d (of the steps),
// both 0 at first:
//   s' = rho s + (1 - rho) g^2
//   x  = sqrt(d + epsilon) / sqrt(s' + epsilon) g
//   d' = rho d + (1 - rho) x^2;  p' = p - a x
//
// The paper has no learning rate, so the default here is 1. Defaults: rho 0.95, epsilon 1e-6.

#pragma once

#include "models/optimizers/element_wise.hpp"

#include <cmath>

namespace troupe {

struct adadelta {
  static constexpr auto kind = optimizer_kind::adadelta;
  static constexpr size_t slot_count = 2; ///< s and d

  adadelta(const optimizer_options& x, const update_step& step)
    : square(*x.rho), rate(step.learning_rate), epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& s, float& d) const {
    square.add(g * g, s);
    const float x = std::sqrt(d + epsilon) / std::sqrt(s + epsilon) * g;
    square.add(x * x, d);
    return p - rate * x;
  }

  mean_decay square;
  float rate;
  float epsilon;
};

} // namespace troupe
