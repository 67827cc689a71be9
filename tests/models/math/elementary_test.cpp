#include "models/math/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace troupe::elementary_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// The greatest distance to the true value, in units of the true value's last place.
double worst_error(float low, float high, const std::function<float(float)>& ours,
                   const std::function<long double(long double)>& truth) {
  double worst = 0;
  for (int i = 0; i <= 200'000; ++i) {
    const float x = low + (high - low) * static_cast<float>(i) / 200'000;
    const long double expected = truth(x);
    const auto rounded = static_cast<float>(expected);
    const float unit = std::nextafter(std::abs(rounded), infinity) - std::abs(rounded);
    worst = std::max(worst, static_cast<double>(std::abs(ours(x) - expected) / unit));
  }
  return worst;
}

TEST(elementary, float_functions_are_within_one_unit_in_the_last_place) {
  using namespace elementary;
  EXPECT_LT(worst_error(
              -87, 88, [](float x) { return elementary::exp(x); },
              [](long double x) { return std::exp(x); }),
            0.51);
  for (float range : {0.01f, 0.05f, 1.0f, 12.0f})
    EXPECT_LT(worst_error(
                -range, range, [](float x) { return elementary::tanh(x); },
                [](long double x) { return std::tanh(x); }),
              0.51)
      << range;
  EXPECT_LT(worst_error(
              -80, 30, [](float x) { return elementary::sigmoid(x); },
              [](long double x) { return 1 / (1 + std::exp(-x)); }),
            0.51);
}

TEST(elementary, functions_of_activations_match_libm) {
  const auto elu = [](float x) { return elementary::expm1(x); };
  const auto softplus = [](float x) { return static_cast<float>(elementary::softplus(x)); };
  const auto phi = [](float x) { return static_cast<float>(elementary::normal_cdf(x)); };
  const auto true_expm1 = [](long double x) { return std::expm1(x); };
  for (float range : {1e-5f, 0.02f, 1.0f, 80.0f})
    EXPECT_LT(worst_error(-range, range, elu, true_expm1), 0.51) << range;
  EXPECT_LT(worst_error(-80, 80, softplus, [](long double x) { return std::log1p(std::exp(x)); }),
            0.51);
  EXPECT_LT(
    worst_error(-12, 12, phi, [](long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }),
    0.51);
  EXPECT_TRUE(std::isnan(elu(nan)) && std::isnan(softplus(nan)) && std::isnan(phi(nan)));
  EXPECT_EQ(elu(-infinity), -1);
  EXPECT_EQ(softplus(infinity), infinity);
  EXPECT_EQ(phi(infinity), 1);
}

TEST(elementary, double_functions_match_libm) {
  for (int i = 0; i <= 4000; ++i) {
    const double x = i / 100.0;
    EXPECT_NEAR(elementary::atan(x), std::atan(x), 1e-15) << x;
    const long double t = x / 4; // up to 10, where long double still holds erfc's factor
    const auto erfcx = static_cast<double>(std::exp(t * t) * std::erfc(t));
    EXPECT_NEAR(elementary::erfcx(static_cast<double>(t)), erfcx, 1e-12 * erfcx) << x;
    const double small = std::pow(10.0, -x / 2);
    EXPECT_NEAR(elementary::log1p(small), std::log1p(small), 1e-15 * small) << x;
    EXPECT_NEAR(elementary::log1p(-small / 2), std::log1p(-small / 2), 1e-15 * small) << x;
  }
  EXPECT_NEAR(elementary::erfcx(1e6), 1 / (1e6 * std::sqrt(std::acos(-1.0))), 1e-18);
}

TEST(elementary, float_functions_keep_the_edges) {
  using namespace elementary;
  EXPECT_EQ(elementary::exp(0.0f), 1);
  EXPECT_EQ(elementary::exp(infinity), infinity);
  EXPECT_EQ(elementary::exp(-infinity), 0);
  EXPECT_EQ(elementary::exp(1000.0f), infinity);
  EXPECT_TRUE(std::isnan(elementary::exp(nan)));
  EXPECT_GT(elementary::exp(-100.0f), 0) << "subnormal results are kept";
  EXPECT_EQ(elementary::tanh(infinity), 1);
  EXPECT_EQ(elementary::tanh(-infinity), -1);
  EXPECT_TRUE(std::signbit(elementary::tanh(-0.0f)));
  EXPECT_TRUE(std::isnan(elementary::tanh(nan)));
  EXPECT_EQ(elementary::sigmoid(infinity), 1);
  EXPECT_EQ(elementary::sigmoid(-infinity), 0);
  EXPECT_EQ(elementary::sigmoid(0.0f), 0.5f);
  EXPECT_TRUE(std::isnan(elementary::sigmoid(nan)));
}

TEST(elementary, logarithm_is_exact_to_the_last_digits) {
  for (int i = -3000; i <= 3000; ++i) {
    const double x = std::pow(1.1, i / 10.0) * 1.37;
    const auto expected = static_cast<double>(std::log(static_cast<long double>(x)));
    EXPECT_NEAR(elementary::log(x), expected, 4e-16 * std::max(1.0, std::abs(expected))) << x;
  }
  EXPECT_EQ(elementary::log(1.0), 0);
  EXPECT_TRUE(std::isinf(elementary::log(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(elementary::log(0.0)));
  EXPECT_TRUE(std::isnan(elementary::log(-1.0)));
  EXPECT_TRUE(std::isnan(elementary::log(std::numeric_limits<double>::quiet_NaN())));
}

TEST(elementary, cosine_of_a_turn_matches_libm) {
  const long double pi = std::acos(-1.0L);
  for (uint64_t turn = 0; turn < (uint64_t{1} << 32); turn += 7'654'321) {
    const auto angle = 2 * pi * static_cast<long double>(turn) / 4294967296.0L;
    EXPECT_NEAR(elementary::cos_of_turn(static_cast<uint32_t>(turn)),
                static_cast<double>(std::cos(angle)), 3e-16);
  }
  EXPECT_EQ(elementary::cos_pi(0), 1);
  EXPECT_EQ(elementary::cos_pi(1), -1);
  EXPECT_EQ(elementary::cos_pi(0.5), 0);
}

TEST(elementary, power_of_a_whole_exponent) {
  EXPECT_EQ(elementary::power(3, 0), 1);
  EXPECT_EQ(elementary::power(3, 5), 243);
  EXPECT_NEAR(elementary::power(0.999, 1000), std::pow(0.999, 1000), 1e-14);
}

TEST(elementary, exponential_in_double_is_exact_to_the_last_digits) {
  for (int i = -7070; i <= 7090; ++i) {
    const double x = i / 10.0 + i * 1e-7;
    const auto expected = static_cast<double>(std::exp(static_cast<long double>(x)));
    EXPECT_NEAR(elementary::exp_double(x), expected, 5e-16 * expected) << x;
  }
  EXPECT_EQ(elementary::exp_double(0), 1);
  EXPECT_EQ(elementary::exp_double(-1e9), 0);
  EXPECT_TRUE(std::isfinite(elementary::exp_double(709.78)));
  EXPECT_TRUE(std::isinf(elementary::exp_double(709.79)));
  EXPECT_TRUE(std::isnan(elementary::exp_double(std::numeric_limits<double>::quiet_NaN())));
}

TEST(elementary, pow_matches_libm) {
  for (double base : {1e-300, 1e-9, 0.1, 0.5, 0.9, 0.999, 1.0, 1.7, 3e4})
    for (double exponent : {-2.5, -1.0, -0.3, 0.0, 1e-9, 0.04, 0.5, 1.0, 2.0, 2.9}) {
      const auto truth = std::pow(static_cast<long double>(base), exponent);
      if (truth > 1e300L || truth < 1e-300L)
        continue;
      const auto expected = static_cast<double>(truth);
      const double bound = (1 + std::abs(exponent * std::log(base))) * 4e-16;
      EXPECT_NEAR(elementary::pow(base, exponent), expected, bound * expected)
        << base << ' ' << exponent;
    }
  EXPECT_EQ(elementary::pow(0, 0.5), 0);
  EXPECT_EQ(elementary::pow(0, 0), 1);
}

} // namespace
} // namespace troupe::elementary_test
