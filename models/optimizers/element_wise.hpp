// The one loop of all element-wise rules: a rule says what a step does to one element, and this
// makes an `optimizer` of it.
//
// A rule is a struct of a step's constants, with
//   kind, slot_count          what it is, and its floats of state a parameter (at most 2)
//   rule(options, step)       the constants, as the floats the loop works with
//   apply(p, g, slots...)     the new value of parameter p with mean gradient g; moves its slots
// and, when a constant depends on the step's number in a way not to be computed for each piece,
//   corrections(options, t)   what `step.corrections` of step t are

#pragma once

#include "models/base/multiversion.hpp"
#include "models/math/elementary.hpp"
#include "models/optimizers/optimizer.hpp"

#include <cmath>

namespace troupe {

/// Pointers to n values each, none overlapping; those to slots the rule does not have are null.
template <class Rule>
TROUPE_MULTIVERSION void
update_elements(const Rule& constants, float gradient_factor, const float* __restrict gradient_sum,
                const float* __restrict parameters, float* __restrict next,
                float* __restrict slot_0, float* __restrict slot_1, size_t n) {
  const auto rule = constants; // of its own: nothing the loop writes can be one of them
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient_sum[i] * gradient_factor;
    if constexpr (Rule::slot_count == 0)
      next[i] = rule.apply(parameters[i], g);
    else if constexpr (Rule::slot_count == 1)
      next[i] = rule.apply(parameters[i], g, slot_0[i]);
    else
      next[i] = rule.apply(parameters[i], g, slot_0[i], slot_1[i]);
  }
}

template <class Rule>
class element_wise final : public optimizer {
public:
  explicit element_wise(const optimizer_options& options) : optimizer(options, Rule::kind) {}

  size_t slot_count() const override { return Rule::slot_count; }

  void update(const update_step& step, const update_piece& x,
              const optimizer_state& state) const override {
    const auto slot = [&](size_t index) {
      return index < Rule::slot_count ? state.slot(index).data() + x.offset : nullptr;
    };
    update_elements(Rule{options(), step}, step.gradient_factor, x.gradient_sum, x.parameters,
                    x.next, slot(0), slot(1), x.count);
  }

private:
  step_corrections corrections(uint64_t t) const override {
    if constexpr (requires { Rule::corrections(options(), t); })
      return Rule::corrections(options(), t);
    return {};
  }
};

// The two moments of adam and its kin, and what they are corrected by while they are young.
//
// With g the mean gradient; m and v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
// Both tend to 0 by a factor 1 - b^(t+1) after step t, counted from 0.

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
