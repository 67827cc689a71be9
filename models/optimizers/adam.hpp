// Adam (Kingma & Ba 2015, algorithm 1), with the paper's constants as defaults.
//
// With g the mean gradient, a the learning rate, t counted from 0; state m and v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
//   p' = p - a (m' / (1 - b1^(t+1))) / (sqrt(v' / (1 - b2^(t+1))) + epsilon)

#pragma once

#include "models/optimizers/element_wise.hpp"

namespace troupe {

struct adam {
  static constexpr auto kind = optimizer_kind::adam;
  static constexpr size_t slot_count = 2; ///< m and v

  static step_corrections corrections(const optimizer_options& x, uint64_t t) {
    return {first_correction(*x.beta1, t), root_correction(*x.beta2, t)};
  }

  adam(const optimizer_options& x, const update_step& step)
    : decay(x),
      rate(step.learning_rate * step.corrections[0]),
      v_correction(step.corrections[1]),
      epsilon(static_cast<float>(*x.epsilon)) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& m, float& v) const {
    decay.add(g, m, v);
    return p - rate * m / (std::sqrt(v) * v_correction + epsilon);
  }

  gradient_moments decay;
  float rate; ///< with the correction of m
  float v_correction;
  float epsilon;
};

} // namespace troupe
