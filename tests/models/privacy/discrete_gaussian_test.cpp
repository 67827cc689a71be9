// The noise against its probabilities: a chi-square over all integers that come, and moments where
// there are too many of them.

#include "troupe/models/privacy/discrete_gaussian.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

namespace troupe::discrete_gaussian_test {

namespace {

constexpr int draw_count = 200'000;

std::map<int64_t, int> drawn(uint64_t variance, uint64_t round) {
  const discrete_gaussian noise{variance};
  secret_stream random{{1, 2, 3}, {secret_purpose::noise, round, 0}};
  std::map<int64_t, int> counts;
  for (int i = 0; i < draw_count; ++i)
    ++counts[noise.draw(random)];
  return counts;
}

/// Of the counts against the pmf of this variance; what is expected fewer than 20 times is one bin.
/// Degrees of freedom are added to the second.
std::pair<double, int> chi_square(const std::map<int64_t, int>& counts, double variance) {
  const auto weight = [&](int64_t x) {
    return std::exp(-static_cast<double>(x) * static_cast<double>(x) / (2 * variance));
  };
  const auto reach = static_cast<int64_t>(20 * std::sqrt(variance)) + 20;
  double total = 0;
  for (auto x = -reach; x <= reach; ++x)
    total += weight(x);
  double result = 0, rest = draw_count;
  int rest_count = draw_count, bins = 0;
  for (auto x = -reach; x <= reach; ++x) {
    const double expected = draw_count * weight(x) / total;
    if (expected < 20)
      continue;
    const auto found = counts.find(x);
    const int count = found == counts.end() ? 0 : found->second;
    result += (count - expected) * (count - expected) / expected;
    rest -= expected;
    rest_count -= count;
    ++bins;
  }
  if (rest > 1)
    result += (rest_count - rest) * (rest_count - rest) / rest;
  return {result, bins};
}

/// 0.9995 of a chi-square (Wilson & Hilferty).
double critical(int degrees) {
  const double h = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1 - h + 3.29 * std::sqrt(h), 3);
}

} // namespace

TEST(discrete_gaussian, has_its_probabilities) {
  uint64_t round = 0;
  for (const uint64_t variance : {1, 2, 5, 9, 100, 12'345}) {
    const auto counts = drawn(variance, round++);
    const auto [statistic, degrees] = chi_square(counts, static_cast<double>(variance));
    EXPECT_LT(statistic, critical(degrees)) << variance;
    const auto [other, other_degrees] = chi_square(counts, 1.06 * static_cast<double>(variance));
    EXPECT_GT(other, critical(other_degrees))
      << "a variance that is off by 6 % is seen: " << variance;
  }
}

TEST(discrete_gaussian, has_the_moments_of_a_wide_one) {
  for (const uint64_t variance : {uint64_t{1} << 40, discrete_gaussian::variance_max}) {
    const discrete_gaussian noise{variance};
    secret_stream random{{9}, {secret_purpose::noise, 1, 0}};
    const double sigma = std::sqrt(static_cast<double>(variance));
    double sum = 0, squares = 0, fourths = 0;
    int odd_count = 0;
    for (int i = 0; i < draw_count; ++i) {
      const auto whole = noise.draw(random);
      odd_count += static_cast<int>(whole & 1);
      const double x = static_cast<double>(whole) / sigma;
      sum += x;
      squares += x * x;
      fourths += x * x * x * x;
    }
    const double root = std::sqrt(draw_count); // four standard errors each
    EXPECT_NEAR(sum / draw_count, 0, 4 / root);
    EXPECT_NEAR(squares / draw_count, 1, 4 * std::sqrt(2) / root);
    EXPECT_NEAR(fourths / draw_count, 3, 4 * std::sqrt(96) / root);
    EXPECT_NEAR(odd_count, draw_count / 2, 2 * root) << "the lowest bit tells nothing";
  }
}

TEST(discrete_gaussian, is_never_less_than_was_asked_for) {
  EXPECT_EQ(variance_of(3), 9u);
  EXPECT_EQ(variance_of(3.01), 10u);
  EXPECT_EQ(variance_of(0.001), 1u);
  EXPECT_EQ(variance_of(0x1p24), discrete_gaussian::variance_max);
  for (const double odd : {0.0, -1.0, 0x1p24 + 1, std::nan("")})
    EXPECT_THROW(variance_of(odd), std::invalid_argument);
  EXPECT_THROW(discrete_gaussian{0}, std::invalid_argument);
  EXPECT_THROW(discrete_gaussian{discrete_gaussian::variance_max + 1}, std::invalid_argument);
}

} // namespace troupe::discrete_gaussian_test
