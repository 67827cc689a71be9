// Rprop (Riedmiller & Braun 1993), in the form without backtracking (Igel & Husken 2003, iRprop-):
// only the sign of the gradient counts, and each parameter has a step of its own.
//
// With g the mean gradient, e the sign of the gradient before, d the step; state e and d, 0 at
// first (a d of 0 stands for the learning rate of the first step):
//   g e > 0:  d' = min(1.2 d, 50)             same direction: longer
//   g e < 0:  d' = max(0.5 d, 1e-6), g := 0   went too far: shorter, and this step does not count
//   else:     d' = d
//   p' = p - sign(g) d';  e' = sign(g)
//
// The learning rate is the first step only; a schedule means nothing to this rule but there. Signs
// say nothing when they come from other rows each time: use it with the full batch.

#pragma once

#include "models/base/multiversion.hpp"
#include "models/optimizers/optimizer.hpp"

namespace troupe {

struct rprop {
  static constexpr auto kind = optimizer_kind::rprop;
  static constexpr size_t slot_count = 2; ///< e and d

  // The paper's factors and bounds.
  static constexpr float longer = 1.2f;
  static constexpr float shorter = 0.5f;
  static constexpr float rate_min = 1e-6f;
  static constexpr float rate_max = 50.0f;

  rprop(const optimizer_options&, const update_step& step) : first_rate(step.learning_rate) {}

  TROUPE_ALWAYS_INLINE float apply(float p, float g, float& e, float& d) const {
    const float sign = g > 0 ? 1.0f : (g < 0 ? -1.0f : 0.0f);
    const float turn = sign * e;
    const float scale = turn > 0 ? longer : (turn < 0 ? shorter : 1.0f);
    float rate = (d == 0 ? first_rate : d) * scale;
    rate = rate < rate_min ? rate_min : rate;
    d = rate > rate_max ? rate_max : rate;
    e = turn < 0 ? 0.0f : sign;
    // g * 0 is 0, or NaN for a gradient that is not finite: a sign alone would hide it.
    return p - (e * d + g * 0.0f);
  }

  float first_rate; ///< where there is no step yet
};

} // namespace troupe
