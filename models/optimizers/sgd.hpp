// Stochastic gradient descent, plain, with momentum, or with Nesterov's momentum.
//
// With g the mean gradient, a the learning rate, m the momentum and v the velocity (state, 0 at
// first):
//   plain:     p' = p - a g
//   momentum:  v' = m v + g;  p' = p - a v'                 (Polyak 1964)
//   nesterov:  v' = m v + g;  p' = p - a (g + m v')         (Sutskever et al. 2013, as in PyTorch)

#pragma once

#include "models/base/multiversion.hpp"
#include "models/optimizers/optimizer.hpp"

namespace troupe {

struct sgd {
  static constexpr auto kind = optimizer_kind::sgd;
  static constexpr size_t slot_count = 0;

  sgd(const optimizer_options&, const update_step& step) : rate(step.learning_rate) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g) const { return p - rate * g; }

  float rate;
};

struct momentum_sgd {
  static constexpr auto kind = optimizer_kind::sgd;
  static constexpr size_t slot_count = 1; ///< v

  momentum_sgd(const optimizer_options& x, const update_step& step)
    : rate(step.learning_rate),
      momentum(static_cast<float>(x.momentum)),
      gradient_share(x.nesterov ? 1.0f : 0.0f),
      velocity_share(x.nesterov ? momentum : 1.0f) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& v) const {
    v = momentum * v + g;
    return p - rate * (gradient_share * g + velocity_share * v);
  }

  float rate;
  float momentum;
  float gradient_share; ///< of the direction: 0, or 1 for nesterov
  float velocity_share; ///< of the direction: 1, or the momentum for nesterov
};

} // namespace troupe
