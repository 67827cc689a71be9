#include "troupe/models/optimizers/adamax.hpp"

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/math/elementary.hpp"

#include <cmath>

namespace troupe {

namespace {

struct adamax_step {
  float factor;       ///< on the gradient sum
  float beta1, rest1; ///< rest = 1 - beta
  float beta2;
  float rate; ///< learning rate with the first correction
  float epsilon;
};

TROUPE_MULTIVERSION void update_values(const float* __restrict gradient_sum,
                                       const float* __restrict parameters, float* __restrict next,
                                       float* __restrict first, float* __restrict greatest,
                                       size_t count, const adamax_step& step) {
  const auto [factor, beta1, rest1, beta2, rate, epsilon] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float m = beta1 * first[i] + rest1 * g;
    const float decayed = beta2 * greatest[i];
    const float size = std::abs(g) + epsilon;
    const float u = decayed > size ? decayed : size;
    first[i] = m;
    greatest[i] = u;
    next[i] = parameters[i] - rate * m / u;
  }
}

} // namespace

update_step adamax::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  auto step = optimizer::begin_step(t, sample_count, way);
  step.first_correction = static_cast<float>(1 / (1 - elementary::power(*options().beta1, t + 1)));
  return step;
}

void adamax::update(const update_step& step, const update_piece& piece,
                    const optimizer_state& state) const {
  using x = optimizer_options;
  update_values(piece.gradient_sum, piece.parameters, piece.next,
                state.slot(0).data() + piece.offset, state.slot(1).data() + piece.offset,
                piece.count,
                {step.gradient_factor, constant(&x::beta1), rest(&x::beta1), constant(&x::beta2),
                 step.learning_rate * step.first_correction, constant(&x::epsilon)});
}

} // namespace troupe
