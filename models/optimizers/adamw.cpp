#include "troupe/models/optimizers/adamw.hpp"

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/math/elementary.hpp"

#include <cmath>

namespace troupe {

namespace {

struct adamw_step {
  float factor;       ///< on the gradient sum
  float beta1, rest1; ///< rest = 1 - beta
  float beta2, rest2;
  float rate; ///< learning rate with the first correction
  float second_correction;
  float epsilon;
  float kept; ///< share of a parameter that the decay leaves
};

TROUPE_MULTIVERSION void update_values(const float* __restrict gradient_sum,
                                       const float* __restrict parameters, float* __restrict next,
                                       float* __restrict first, float* __restrict second,
                                       size_t count, const adamw_step& step) {
  const auto [factor, beta1, rest1, beta2, rest2, rate, second_correction, epsilon, kept] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float m = beta1 * first[i] + rest1 * g;
    const float v = beta2 * second[i] + rest2 * (g * g);
    first[i] = m;
    second[i] = v;
    next[i] = parameters[i] * kept - rate * m / (std::sqrt(v) * second_correction + epsilon);
  }
}

} // namespace

update_step adamw::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  auto step = optimizer::begin_step(t, sample_count, way);
  step.first_correction = static_cast<float>(1 / (1 - elementary::power(*options().beta1, t + 1)));
  step.second_correction =
    static_cast<float>(1 / std::sqrt(1 - elementary::power(*options().beta2, t + 1)));
  return step;
}

void adamw::update(const update_step& step, const update_piece& piece,
                   const optimizer_state& state) const {
  using x = optimizer_options;
  update_values(
    piece.gradient_sum, piece.parameters, piece.next, state.slot(0).data() + piece.offset,
    state.slot(1).data() + piece.offset, piece.count,
    {step.gradient_factor, constant(&x::beta1), rest(&x::beta1), constant(&x::beta2),
     rest(&x::beta2), step.learning_rate * step.first_correction, step.second_correction,
     constant(&x::epsilon),
     static_cast<float>(1 - static_cast<double>(step.learning_rate) * *options().weight_decay)});
}

} // namespace troupe
