#include "troupe/models/optimizers/rprop.hpp"

#include "troupe/models/base/multiversion.hpp"

namespace troupe {

namespace {

// The paper's factors and bounds.
constexpr float longer = 1.2f;
constexpr float shorter = 0.5f;
constexpr float rate_min = 1e-6f;
constexpr float rate_max = 50.0f;

struct rprop_step {
  float factor;     ///< on the gradient sum
  float first_rate; ///< where there is no step yet
};

TROUPE_MULTIVERSION void update_values(const float* __restrict gradient_sum,
                                       const float* __restrict parameters, float* __restrict next,
                                       float* __restrict signs, float* __restrict rates,
                                       size_t count, const rprop_step& step) {
  const auto [factor, first_rate] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float sign = g > 0 ? 1.0f : (g < 0 ? -1.0f : 0.0f);
    const float turn = sign * signs[i];
    const float scale = turn > 0 ? longer : (turn < 0 ? shorter : 1.0f);
    float rate = (rates[i] == 0 ? first_rate : rates[i]) * scale;
    rate = rate < rate_min ? rate_min : rate;
    rate = rate > rate_max ? rate_max : rate;
    const float counted = turn < 0 ? 0.0f : sign;
    signs[i] = counted;
    rates[i] = rate;
    // g * 0 is 0, or NaN for a gradient that is not finite: a sign alone would hide it.
    next[i] = parameters[i] - (counted * rate + g * 0.0f);
  }
}

} // namespace

void rprop::update(const update_step& step, const update_piece& piece,
                   const optimizer_state& state) const {
  update_values(piece.gradient_sum, piece.parameters, piece.next,
                state.slot(0).data() + piece.offset, state.slot(1).data() + piece.offset,
                piece.count, {step.gradient_factor, step.learning_rate});
}

} // namespace troupe
