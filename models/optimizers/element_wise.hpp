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
#include "models/optimizers/optimizer.hpp"

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

} // namespace troupe
