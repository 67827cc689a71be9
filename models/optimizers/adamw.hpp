// AdamW (Loshchilov & Hutter 2019, "Decoupled weight decay regularization", algorithm 2): Adam, and
// beside it each parameter shrinks by a share of itself.
//
// With g the mean gradient, a the learning rate, d the weight decay, t counted from 0; state m and
// v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
//   p' = p - a d p - a (m' / (1 - b1^(t+1))) / (sqrt(v' / (1 - b2^(t+1))) + epsilon)
//
// The decay never enters g, m or v (that would be an L2 penalty, `l2`), and it is applied once, to
// every parameter. The paper's lambda is a d here: as in PyTorch, the rate with its schedule scales
// the decay too, so both fall together. The paper recommends no value; 0.01 is PyTorch's.

#pragma once

#include "models/optimizers/adam.hpp"

namespace troupe {

struct adamw : adam {
  static constexpr auto kind = optimizer_kind::adamw;

  adamw(const optimizer_options& x, const update_step& step)
    : adam(x, step),
      kept(static_cast<float>(1 - static_cast<double>(step.learning_rate) * *x.weight_decay)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& m, float& v) const {
    return adam::apply(p * kept, g, m, v);
  }

  float kept; ///< share of a parameter that the decay leaves
};

} // namespace troupe
