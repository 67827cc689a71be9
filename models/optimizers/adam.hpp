// Adam and the rules that change one thing of it: AdamW, AdaMax, NAdam, RAdam.

#pragma once

#include "troupe/models/optimizers/moments.hpp"

#include <cmath>

namespace troupe {

/// Adam (Kingma & Ba 2015, algorithm 1), with the paper's constants as defaults.
///
/// With g the mean gradient, a the learning rate, t counted from 0; state m and v, 0 at first:
///   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
///   p' = p - a (m' / (1 - b1^(t+1))) / (sqrt(v' / (1 - b2^(t+1))) + epsilon)
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

  moments decay;
  float rate; ///< with the correction of m
  float v_correction;
  float epsilon;
};

/// AdamW (Loshchilov & Hutter 2019, "Decoupled weight decay regularization", algorithm 2): Adam, and
/// beside it each parameter shrinks by a share of itself.
///
/// With g the mean gradient, a the learning rate, d the weight decay, t counted from 0; state m and
/// v, 0 at first:
///   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
///   p' = p - a d p - a (m' / (1 - b1^(t+1))) / (sqrt(v' / (1 - b2^(t+1))) + epsilon)
///
/// The decay never enters g, m or v (that would be an L2 penalty, `l2`), and it is applied once, to
/// every parameter. The paper's lambda is a d here: as in PyTorch, the rate with its schedule scales
/// the decay too, so both fall together. The paper recommends no value; 0.01 is PyTorch's.
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

/// AdaMax (Kingma & Ba 2015, algorithm 2): Adam with the greatest gradient in place of the root of
/// the mean square.
///
/// With g the mean gradient, a the learning rate, t counted from 0; state m and u, 0 at first:
///   m' = b1 m + (1 - b1) g;  u' = max(b2 u, |g| + epsilon)
///   p' = p - a / (1 - b1^(t+1)) m' / u'
///
/// The paper has no epsilon and divides 0 by 0 while a parameter has seen no gradient; as in PyTorch
/// it is added to |g|. Defaults: the paper's betas.
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

/// NAdam (Dozat 2016, "Incorporating Nesterov momentum into Adam", algorithm 8).
///
/// With g the mean gradient, a the learning rate, t counted from 0, k = t + 1, and the paper's
/// momentum mu_k = b1 (1 - 0.96^(0.004 k) / 2), M_k = mu_1 mu_2 .. mu_k; state m and v, 0 at first:
///   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
///   p' = p - a ((1 - mu_k) g / (1 - M_k) + mu_(k+1) m' / (1 - M_(k+1)))
///              / (sqrt(v' / (1 - b2^k)) + epsilon)
///
/// M_k is computed from k alone, so a resumed step is the same step; the product ends where
/// 1 - M_k is 1 in double. m decays by b1, not mu_k, as in PyTorch (whose version 1.13 has mu_k
/// twice in M_(k+1); later ones are as here).
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

  moments decay;
  float gradient_rate; ///< learning rate with the gradient's share
  float moment_rate;   ///< learning rate with that of m
  float v_correction;
  float epsilon;
};

/// RAdam (Liu et al. 2020, "On the variance of the adaptive learning rate and beyond", algorithm 2):
/// Adam that waits with the adaptive rate until enough gradients were seen to trust it.
///
/// With g the mean gradient, a the learning rate, t counted from 0, k = t + 1; state m and v, 0 at
/// first:
///   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2;  n' = m' / (1 - b1^k)
///   r_inf = 2 / (1 - b2) - 1;  r = r_inf - 2 k b2^k / (1 - b2^k)
///   r > 4:  p' = p - a n' sqrt((r - 4)(r - 2) r_inf / ((r_inf - 4)(r_inf - 2) r))
///                      sqrt(1 - b2^k) / (sqrt(v') + epsilon)
///   else:   p' = p - a n'
///
/// The bound 4 is the paper's; PyTorch waits until r > 5, one step longer with the usual beta2. The
/// paper has no epsilon; it stands where PyTorch has it.
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

  moments decay;
  float rate;     ///< with the correction of m
  float adaptive; ///< the roots of p' above; 0 while r <= 4
  float fixed;    ///< 1 while r <= 4, else 0
  float epsilon;
};

} // namespace troupe
