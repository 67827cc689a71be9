// NAdam (Dozat 2016, "Incorporating Nesterov momentum into Adam", algorithm 8).
//
// With g the mean gradient, a the learning rate, t counted from 0, k = t + 1, and the paper's
// momentum mu_k = b1 (1 - 0.96^(0.004 k) / 2), M_k = mu_1 mu_2 .. mu_k; state m and v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
//   p' = p - a ((1 - mu_k) g / (1 - M_k) + mu_(k+1) m' / (1 - M_(k+1)))
//              / (sqrt(v' / (1 - b2^k)) + epsilon)
//
// M_k is computed from k alone, so a resumed step is the same step; the product ends where
// 1 - M_k is 1 in double. m decays by b1, not mu_k, as in PyTorch (whose version 1.13 has mu_k
// twice in M_(k+1); later ones are as here).

#pragma once

#include "models/optimizers/element_wise.hpp"

namespace troupe {

struct nadam {
  static constexpr auto kind = optimizer_kind::nadam;
  static constexpr size_t slot_count = 2; ///< m and v

  static step_corrections corrections(const optimizer_options& x, uint64_t t);

  nadam(const optimizer_options& x, const update_step& step)
    : decay(x),
      gradient_rate(step.learning_rate * step.corrections[0]),
      moment_rate(step.learning_rate * step.corrections[1]),
      v_correction(step.corrections[2]),
      epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& m, float& v) const {
    decay.add(g, m, v);
    return p - (gradient_rate * g + moment_rate * m) / (std::sqrt(v) * v_correction + epsilon);
  }

  gradient_moments decay;
  float gradient_rate; ///< learning rate with the gradient's share
  float moment_rate;   ///< learning rate with that of m
  float v_correction;
  float epsilon;
};

} // namespace troupe
