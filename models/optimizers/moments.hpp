// The two moments of adam and its kin, and what they are corrected by while they are young.
//
// With g the mean gradient; m and v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
// Both tend to 0 by a factor 1 - b^(t+1) after step t, counted from 0.

#pragma once

#include "models/base/multiversion.hpp"
#include "models/math/elementary.hpp"
#include "models/optimizers/optimizer.hpp"

#include <cmath>

namespace troupe {

/// Decay of a mean that moves: of what was, and 1 - it of what comes, rounded once.
struct mean_decay {
  explicit mean_decay(double share)
    : kept(static_cast<float>(share)), rest(static_cast<float>(1 - share)) {}

  TROUPE_ALWAYS_INLINE void add(float x, float& mean) const { mean = kept * mean + rest * x; }

  float kept;
  float rest;
};

struct gradient_moments {
  explicit gradient_moments(const optimizer_options& x) : first(*x.beta1), second(*x.beta2) {}

  TROUPE_ALWAYS_INLINE void add(float g, float& m, float& v) const {
    first.add(g, m);
    second.add(g * g, v);
  }

  mean_decay first;
  mean_decay second;
};

/// 1 / (1 - beta1^(t+1)): times m, an estimate that is not drawn to 0.
inline float first_correction(double beta1, uint64_t t) {
  return static_cast<float>(1 / (1 - elementary::power(beta1, t + 1)));
}

/// 1 / sqrt(1 - beta2^(t+1)): the same for the root of v.
inline float root_correction(double beta2, uint64_t t) {
  return static_cast<float>(1 / std::sqrt(1 - elementary::power(beta2, t + 1)));
}

} // namespace troupe
