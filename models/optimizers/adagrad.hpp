// AdaGrad, and the two rules that let its sum of squares fade: RMSProp and AdaDelta.

#pragma once

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/optimizers/moments.hpp"
#include "troupe/models/optimizers/optimizer.hpp"

#include <cmath>

namespace troupe {

/// AdaGrad (Duchi, Hazan & Singer 2011, figure 1 with a diagonal matrix).
///
/// With g the mean gradient, a the learning rate; state s, 0 at first:
///   s' = s + g^2;  p' = p - a g / (sqrt(s') + epsilon)
///
/// epsilon is the paper's delta: without it a parameter that has seen no gradient would be 0 / 0.
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

/// RMSProp (Hinton, Srivastava & Swersky 2012, Neural networks for machine learning, lecture 6e).
///
/// With g the mean gradient, a the learning rate; state s, 0 at first:
///   s' = rho s + (1 - rho) g^2;  p' = p - a g / (sqrt(s') + epsilon)
///
/// rho is the share that is *kept*: 0.9 as in the lecture. The lecture has no epsilon; it stands
/// where PyTorch has it.
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

/// AdaDelta (Zeiler 2012, algorithm 1), with the constants of the paper's experiments.
///
/// With g the mean gradient, a the learning rate; state s (mean square of g) and d (of the steps),
/// both 0 at first:
///   s' = rho s + (1 - rho) g^2
///   x  = sqrt(d + epsilon) / sqrt(s' + epsilon) g
///   d' = rho d + (1 - rho) x^2;  p' = p - a x
///
/// The paper has no learning rate, so the default here is 1. Defaults: rho 0.95, epsilon 1e-6.
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
