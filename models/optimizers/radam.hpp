// RAdam (Liu et al. 2020, "On the variance of the adaptive learning rate and beyond", algorithm 2):
// Adam that waits with the adaptive rate until enough gradients were seen to trust it.
//
// With g the mean gradient, a the learning rate, t counted from 0, k = t + 1; state m and v, 0 at
// first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2;  n' = m' / (1 - b1^k)
//   r_inf = 2 / (1 - b2) - 1;  r = r_inf - 2 k b2^k / (1 - b2^k)
//   r > 4:  p' = p - a n' sqrt((r - 4)(r - 2) r_inf / ((r_inf - 4)(r_inf - 2) r))
//                      sqrt(1 - b2^k) / (sqrt(v') + epsilon)
//   else:   p' = p - a n'
//
// The bound 4 is the paper's; PyTorch waits until r > 5, one step longer with the usual beta2. The
// paper has no epsilon; it stands where PyTorch has it.

#pragma once

#include "models/optimizers/element_wise.hpp"

namespace troupe {

struct radam {
  static constexpr auto kind = optimizer_kind::radam;
  static constexpr size_t slot_count = 2; ///< m and v

  static step_corrections corrections(const optimizer_options& x, uint64_t t);

  radam(const optimizer_options& x, const update_step& step)
    : decay(x),
      rate(step.learning_rate * step.corrections[0]),
      adaptive(step.corrections[1]),
      fixed(adaptive > 0 ? 0.0f : 1.0f),
      epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& m, float& v) const {
    decay.add(g, m, v);
    return p - rate * m * (fixed + adaptive / (std::sqrt(v) + epsilon));
  }

  gradient_moments decay;
  float rate;     ///< with the correction of m
  float adaptive; ///< the roots of p' above; 0 while r <= 4
  float fixed;    ///< 1 while r <= 4, else 0
  float epsilon;
};

} // namespace troupe
