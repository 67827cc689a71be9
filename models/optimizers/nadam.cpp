#include "troupe/models/optimizers/nadam.hpp"

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/math/elementary.hpp"

#include <cmath>

namespace troupe {

namespace {

// Below this, 1 - M is 1 in double and nothing changes any more.
constexpr double product_min = 1e-20;

// The paper's momentum of step k, counted from 1.
struct momentum_schedule {
  double beta1;

  double at(uint64_t k) const { return with_power(elementary::power(ratio(), k)); }

  /// M_k = mu_1 mu_2 .. mu_k.
  double product(uint64_t k) const {
    const double c = ratio();
    double power = 1;
    double result = 1;
    for (uint64_t i = 0; i < k && result > product_min; ++i) {
      power *= c;
      result *= with_power(power);
    }
    return result;
  }

private:
  static double ratio() { return 0x1.ffea9969757dbp-1; } // 0.96^0.004
  double with_power(double power) const { return beta1 * (1 - 0.5 * power); }
};

struct nadam_step {
  float factor;       ///< on the gradient sum
  float beta1, rest1; ///< rest = 1 - beta
  float beta2, rest2;
  float gradient_rate; ///< learning rate with the gradient's share
  float moment_rate;   ///< learning rate with the first moment's
  float second_correction;
  float epsilon;
};

TROUPE_MULTIVERSION void update_values(const float* __restrict gradient_sum,
                                       const float* __restrict parameters, float* __restrict next,
                                       float* __restrict first, float* __restrict second,
                                       size_t count, const nadam_step& step) {
  const auto [factor, beta1, rest1, beta2, rest2, gradient_rate, moment_rate, second_correction,
              epsilon] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float m = beta1 * first[i] + rest1 * g;
    const float v = beta2 * second[i] + rest2 * (g * g);
    first[i] = m;
    second[i] = v;
    next[i] = parameters[i] -
              (gradient_rate * g + moment_rate * m) / (std::sqrt(v) * second_correction + epsilon);
  }
}

} // namespace

update_step nadam::begin_step(uint64_t t, uint64_t sample_count, direction way) const {
  auto step = optimizer::begin_step(t, sample_count, way);
  const momentum_schedule mu{*options().beta1};
  const double product = mu.product(t + 1);
  const double next = mu.at(t + 2);
  step.gradient_share = static_cast<float>((1 - mu.at(t + 1)) / (1 - product));
  step.first_correction = static_cast<float>(next / (1 - product * next));
  step.second_correction =
    static_cast<float>(1 / std::sqrt(1 - elementary::power(*options().beta2, t + 1)));
  return step;
}

void nadam::update(const update_step& step, const update_piece& piece,
                   const optimizer_state& state) const {
  using x = optimizer_options;
  update_values(
    piece.gradient_sum, piece.parameters, piece.next, state.slot(0).data() + piece.offset,
    state.slot(1).data() + piece.offset, piece.count,
    {step.gradient_factor, constant(&x::beta1), rest(&x::beta1), constant(&x::beta2),
     rest(&x::beta2), step.learning_rate * step.gradient_share,
     step.learning_rate * step.first_correction, step.second_correction, constant(&x::epsilon)});
}

} // namespace troupe
