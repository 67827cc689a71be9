#include "models/optimizers/nadam.hpp"

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

} // namespace

step_corrections nadam::corrections(const optimizer_options& x, uint64_t t) {
  const momentum_schedule mu{*x.beta1};
  const double product = mu.product(t + 1);
  const double next = mu.at(t + 2);
  return {static_cast<float>((1 - mu.at(t + 1)) / (1 - product)),
          static_cast<float>(next / (1 - product * next)), root_correction(*x.beta2, t)};
}

} // namespace troupe
