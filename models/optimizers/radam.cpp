#include "troupe/models/optimizers/radam.hpp"

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/math/elementary.hpp"

#include <cmath>

namespace troupe {

namespace {

// The paper's r_t with the second moment's correction; 0 while the variance cannot be trusted.
double rectification(double beta2, uint64_t k) {
  const double decayed = elementary::power(beta2, k);
  const double longest = 2 / (1 - beta2) - 1;
  const double length = longest - 2 * static_cast<double>(k) * decayed / (1 - decayed);
  if (!(length > 4))
    return 0;
  const double variance_ratio =
    (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length);
  return std::sqrt(variance_ratio) * std::sqrt(1 - decayed);
}

struct radam_step {
  float factor;       ///< on the gradient sum
  float beta1, rest1; ///< rest = 1 - beta
  float beta2, rest2;
  float rate;  ///< learning rate with the first correction
  float fixed; ///< 1 while the rate is not adaptive, else 0
  float rectification;
  float epsilon;
};

TROUPE_MULTIVERSION void update_values(const float* __restrict gradient_sum,
                                       const float* __restrict parameters, float* __restrict next,
                                       float* __restrict first, float* __restrict second,
                                       size_t count, const radam_step& step) {
  const auto [factor, beta1, rest1, beta2, rest2, rate, fixed, rectification, epsilon] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float m = beta1 * first[i] + rest1 * g;
    const float v = beta2 * second[i] + rest2 * (g * g);
    first[i] = m;
    second[i] = v;
    next[i] = parameters[i] - rate * m * (fixed + rectification / (std::sqrt(v) + epsilon));
  }
}

} // namespace

update_step radam::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  auto step = optimizer::begin_step(t, sample_count, way);
  step.first_correction = static_cast<float>(1 / (1 - elementary::power(*options().beta1, t + 1)));
  step.rectification = static_cast<float>(rectification(*options().beta2, t + 1));
  return step;
}

void radam::update(const update_step& step, const update_piece& piece,
                   const optimizer_state& state) const {
  using x = optimizer_options;
  update_values(piece.gradient_sum, piece.parameters, piece.next,
                state.slot(0).data() + piece.offset, state.slot(1).data() + piece.offset,
                piece.count,
                {step.gradient_factor, constant(&x::beta1), rest(&x::beta1), constant(&x::beta2),
                 rest(&x::beta2), step.learning_rate * step.first_correction,
                 step.rectification > 0 ? 0.0f : 1.0f, step.rectification, constant(&x::epsilon)});
}

} // namespace troupe
