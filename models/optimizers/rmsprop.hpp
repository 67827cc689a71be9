// RMSProp (Hinton, Srivastava & Swersky 2012, Neural networks for machine learning, lecture 6e).
//
// With g the mean gradient, a the learning rate; state s, 0 at first:
//   s' = rho s + (1 - rho) g^2;  p' = p - a g / (sqrt(s') + epsilon)
//
// rho is the share that is *kept*: 0.9 as in the lecture. The lecture has no epsilon; it stands
// where PyTorch has it.

#pragma once

#include "models/optimizers/element_wise.hpp"

#include <cmath>

namespace troupe {

struct rmsprop {
  static constexpr auto kind = optimizer_kind::rmsprop;
  static constexpr size_t slot_count = 1; ///< s

  rmsprop(const optimizer_options& x, const update_step& step)
    : square(*x.rho), rate(step.learning_rate), epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& s) const {
    square.add(g * g, s);
    return p - rate * g / (std::sqrt(s) + epsilon);
  }

  mean_decay square;
  float rate;
  float epsilon;
};

} // namespace troupe
