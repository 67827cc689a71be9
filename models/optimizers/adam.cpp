#include "troupe/models/optimizers/adam.hpp"

#include "troupe/models/elementary.hpp"
#include "troupe/models/lanes.hpp"

#include <cmath>
#include <stdexcept>

namespace troupe {

adam::adam(const optimizer_options& options) : optimizer(options) {
  if (!(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1))
    throw std::invalid_argument("adam: beta1 and beta2 must be in [0, 1)");
  if (!(options.epsilon > 0))
    throw std::invalid_argument("adam: epsilon must be positive");
}

update_step adam::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  auto step = optimizer::begin_step(t, sample_count, way);
  step.first_correction = static_cast<float>(1 / (1 - elementary::power(options().beta1, t + 1)));
  step.second_correction =
    static_cast<float>(1 / std::sqrt(1 - elementary::power(options().beta2, t + 1)));
  return step;
}

bool adam::update(const update_step& step, const update_piece& piece,
                  const optimizer_state& state) const {
  const float* const __restrict sum = piece.gradient_sum;
  const float* const __restrict p = piece.parameters;
  float* const __restrict next = piece.next;
  float* const __restrict m = state.slot(0).data() + piece.offset;
  float* const __restrict v = state.slot(1).data() + piece.offset;
  const auto beta1 = static_cast<float>(options().beta1);
  const auto beta2 = static_cast<float>(options().beta2);
  const auto rest1 = static_cast<float>(1 - options().beta1);
  const auto rest2 = static_cast<float>(1 - options().beta2);
  const auto epsilon = static_cast<float>(options().epsilon);
  const float rate = step.learning_rate * step.first_correction;
  const float second_correction = step.second_correction;
  return visit_finite(piece.count, [=](size_t i) {
    const float g = sum[i] * step.gradient_factor;
    m[i] = beta1 * m[i] + rest1 * g;
    v[i] = beta2 * v[i] + rest2 * (g * g);
    next[i] = p[i] - rate * m[i] / (std::sqrt(v[i]) * second_correction + epsilon);
    return g * 0.0f + next[i] * 0.0f;
  });
}

} // namespace troupe
