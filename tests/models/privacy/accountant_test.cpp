#include "models/privacy/accountant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace troupe::accountant_test {
namespace {

double epsilon_of(double rate, double noise, uint64_t count, double delta) {
  privacy_accountant accountant{delta};
  accountant.add({rate, noise}, count);
  return accountant.epsilon();
}

/// The Rényi divergence of order a by numerical integration: E_{x ~ N(0, z^2)} of (p(x) / p0(x))^a, where
/// p is the mixture of N(0, z^2) and N(1, z^2). Another way to the same figure.
double divergence_by_integration(double rate, double noise, int order) {
  const double z2 = noise * noise;
  long double sum = 0;
  constexpr double step = 0.01; // the error of this sum falls faster than any power of it
  for (double x = -30 * noise; x <= 30 * noise + order; x += step) {
    const long double base = std::exp(-x * x / (2 * z2)) / std::sqrt(2 * std::numbers::pi * z2);
    const long double ratio =
      1 - rate + rate * std::exp(static_cast<long double>((2 * x - 1) / (2 * z2)));
    sum += base * std::pow(ratio, order) * step;
  }
  return std::log(static_cast<double>(sum)) / (order - 1);
}

// Computed with a program of another language and libm when this was designed.
TEST(privacy_accountant, has_the_table_of_its_design) {
  EXPECT_NEAR(epsilon_of(0.01, 1.0, 1000, 1e-6), 2.437, 0.001);
  EXPECT_NEAR(epsilon_of(0.01, 0.8, 1000, 1e-6), 4.301, 0.001);
  EXPECT_NEAR(epsilon_of(250.0 / 60000, 1.1, 14'400, 1e-5), 2.563, 0.001);
  EXPECT_NEAR(epsilon_of(0.1, 1, 100, 1e-5), 7.973, 0.001);
  EXPECT_NEAR(epsilon_of(1, 4, 100, 1e-5), 14.177, 0.001);
}

// With one order that counts, epsilon tells its divergence.
TEST(privacy_accountant, agrees_with_an_integral) {
  for (const double rate : {0.1, 0.5})
    for (const double noise : {0.8, 2.0}) {
      constexpr double delta = 1e-5;
      double least = std::numeric_limits<double>::infinity();
      for (int a = 2; a <= 24; ++a) {
        const double order = a;
        const double bound = 1000 * divergence_by_integration(rate, noise, a) +
                             std::log((order - 1) / order) -
                             (std::log(delta) + std::log(order)) / (order - 1);
        least = std::min(least, bound);
      }
      EXPECT_NEAR(epsilon_of(rate, noise, 1000, delta), least, 1e-4 * least)
        << rate << ' ' << noise;
    }
}

TEST(privacy_accountant, adds_up_releases_whatever_their_order) {
  privacy_accountant one{1e-5}, other{1e-5};
  EXPECT_EQ(one.epsilon(), 0);
  for (int i = 0; i < 3; ++i)
    one.add({0.1, 1});
  one.add({1, 5}, 2);
  other.add({1, 5}, 2);
  other.add({0.1, 1}, 3);
  other.add({0.5, 0.1}, 0);
  EXPECT_NEAR(one.epsilon(), other.epsilon(), 1e-12);
  EXPECT_GT(one.epsilon(), epsilon_of(0.1, 1, 3, 1e-5));
}

TEST(privacy_accountant, grows_with_releases_and_rates_and_falls_with_noise_and_delta) {
  EXPECT_LT(epsilon_of(0.1, 1, 10, 1e-5), epsilon_of(0.1, 1, 11, 1e-5));
  EXPECT_LT(epsilon_of(0.1, 1, 10, 1e-5), epsilon_of(0.11, 1, 10, 1e-5));
  EXPECT_LT(epsilon_of(0.999, 1, 10, 1e-5), epsilon_of(1, 1, 10, 1e-5) * 1.001);
  EXPECT_GT(epsilon_of(0.1, 1, 10, 1e-5), epsilon_of(0.1, 1.1, 10, 1e-5));
  EXPECT_GT(epsilon_of(0.1, 1, 10, 1e-5), epsilon_of(0.1, 1, 10, 1e-4));
}

TEST(privacy_accountant, finds_the_last_release_within_a_budget) {
  const release_kind kind{0.1, 2};
  const auto count = release_count_within(2, 1e-5, kind, 1'000'000);
  EXPECT_LE(epsilon_of(0.1, 2, count, 1e-5), 2);
  EXPECT_GT(epsilon_of(0.1, 2, count + 1, 1e-5), 2);
  EXPECT_EQ(release_count_within(2, 1e-5, kind, 1), 1u);
  EXPECT_EQ(release_count_within(1e-9, 1e-5, kind, 100), 0u);
}

TEST(privacy_accountant, finds_the_noise_for_a_budget) {
  const auto noise = noise_for(2, 1e-5, 0.1, 100);
  EXPECT_LE(epsilon_of(0.1, noise, 100, 1e-5), 2);
  EXPECT_GT(epsilon_of(0.1, noise / 1.002, 100, 1e-5), 2);
  EXPECT_THROW(noise_for(0, 1e-5, 0.1, 100), std::invalid_argument);
}

TEST(privacy_accountant, refuses_what_is_no_release) {
  EXPECT_THROW(privacy_accountant{0}, std::invalid_argument);
  EXPECT_THROW(privacy_accountant{1}, std::invalid_argument);
  privacy_accountant accountant{1e-5};
  EXPECT_THROW(accountant.add({0, 1}), std::invalid_argument);
  EXPECT_THROW(accountant.add({1.1, 1}), std::invalid_argument);
  EXPECT_THROW(accountant.add({0.1, 0}), std::invalid_argument);
  EXPECT_THROW(accountant.add({0.1, std::nan("")}), std::invalid_argument);
}

} // namespace
} // namespace troupe::accountant_test
