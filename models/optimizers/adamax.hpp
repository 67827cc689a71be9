// AdaMax (Kingma & Ba 2015, algorithm 2): Adam with the greatest gradient in place of the root of
// the mean square.
//
// With g the mean gradient, a the learning rate, t counted from 0; state m and u, 0 at first:
//   m' = b1 m + (1 - b1) g;  u' = max(b2 u, |g| + epsilon)
//   p' = p - a / (1 - b1^(t+1)) m' / u'
//
// The paper has no epsilon and divides 0 by 0 while a parameter has seen no gradient; as in PyTorch
// it is added to |g|. Defaults: the paper's betas.

#pragma once

#include "models/optimizers/element_wise.hpp"

#include <cmath>

namespace troupe {

struct adamax {
  static constexpr auto kind = optimizer_kind::adamax;
  static constexpr size_t slot_count = 2; ///< m and u

  static step_corrections corrections(const optimizer_options& x, uint64_t t) {
    return {first_correction(*x.beta1, t)};
  }

  adamax(const optimizer_options& x, const update_step& step)
    : first(*x.beta1),
      beta2(static_cast<float>(*x.beta2)),
      rate(step.learning_rate * step.corrections[0]),
      epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& m, float& u) const {
    first.add(g, m);
    const float decayed = beta2 * u;
    const float size = std::abs(g) + epsilon;
    u = decayed > size ? decayed : size;
    return p - rate * m / u;
  }

  mean_decay first;
  float beta2;
  float rate; ///< with the correction of m
  float epsilon;
};

} // namespace troupe
