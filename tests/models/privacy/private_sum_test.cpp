// Private sums: one client moves the sum by its sensitivity at most, and the noise is what it is said to be.

#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/merging/ring_sum.hpp"
#include "models/privacy/private_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

namespace troupe::private_sum_test {

namespace {

/// Words of one client that moved from 0 to `values`.
std::vector<int64_t> clipped(const private_sum_rule& rule, const std::vector<float>& values) {
  const default_rounding rounding;
  const std::vector<float> start(values.size());
  ring_sum sum{{rule.clip_norm, 1, 1, rule.fraction_bits()}, values.size()};
  const auto size = measure_update(start, values);
  EXPECT_EQ(sum.add(start, values, 1, size, clip_factor(size.norm, rule.clip_norm)),
            update_verdict::counted);
  return {sum.words().begin(), sum.words().end()};
}

double norm_of(const std::vector<int64_t>& words) {
  long double squares = 0;
  for (const auto word : words)
    squares += static_cast<long double>(word) * static_cast<long double>(word);
  return static_cast<double>(std::sqrt(squares));
}

} // namespace

TEST(private_sum, no_client_moves_the_sum_by_more_than_its_sensitivity) {
  const word_reader draw{{7, random_purpose::cohort, 0}};
  for (const double clip : {1e-6, 0.3, 0.5, 1.0, 1000.0})
    for (const double noise : {0.01, 1.0, 8.0, 100.0})
      for (const size_t size : {1u, 7u, 1000u}) {
        const private_sum_rule rule{clip, noise};
        word_reader words = draw;
        std::vector<float> values(size);
        for (const double scale : {1e-3, 1.0, 1e6}) {
          for (auto& value : values)
            value = static_cast<float>((words.unit() - 0.5) * scale * clip);
          const double limit = std::ldexp(rule.sensitivity(size), rule.fraction_bits());
          EXPECT_LE(norm_of(clipped(rule, values)), limit) << clip << ' ' << noise << ' ' << size;
        }
      }
}

TEST(private_sum, what_is_within_the_norm_stays_as_it_is) {
  const private_sum_rule rule{1, 1};
  EXPECT_EQ(rule.fraction_bits(), 20);
  EXPECT_EQ(clipped(rule, {0.5f, -0.25f}), (std::vector<int64_t>{1 << 19, -(1 << 18)}));
  const auto far = clipped(rule, {3, -4});
  EXPECT_NEAR(static_cast<double>(far[0]), 0.6 * (1 << 20), 1);
  EXPECT_NEAR(static_cast<double>(far[1]), -0.8 * (1 << 20), 1);
}

TEST(private_sum, the_grid_follows_from_norm_and_noise) {
  EXPECT_EQ((private_sum_rule{0.5, 1}.fraction_bits()), 21);
  EXPECT_EQ((private_sum_rule{1000, 1}.fraction_bits()), 10);
  EXPECT_EQ((private_sum_rule{1, 1024}.fraction_bits()), 13) << "so much noise needs no finer one";
  const private_sum_rule rule{1, 1};
  EXPECT_DOUBLE_EQ(rule.sensitivity(4), 1 + 0x1p-20);
  EXPECT_GE(rule.variance(4), uint64_t{1} << 40);
  EXPECT_LE((private_sum_rule{1, 1024}.variance(100'000'000)), uint64_t{1} << 48);
}

TEST(private_sum, noise_has_the_deviation_of_its_rule_and_another_name_has_other_noise) {
  const private_sum_rule rule{0.5, 2};
  std::vector<int64_t> words(20'000), others(20'000), again(20'000);
  const auto variance = rule.variance(words.size());
  const auto add = [&](auto& to, uint64_t round, uint64_t attempt) {
    secret_stream stream{secret_key{1, 2, 3}, {secret_purpose::noise, round, attempt}};
    add_noise(to, variance, stream);
  };
  add(words, 3, 0);
  add(again, 3, 0);
  add(others, 3, 1);
  EXPECT_EQ(words, again);
  EXPECT_NE(words, others);
  const double deviation = std::sqrt(static_cast<double>(variance));
  EXPECT_NEAR(deviation, 2 * std::ldexp(rule.sensitivity(words.size()), rule.fraction_bits()), 1);
  const double root = std::sqrt(static_cast<double>(words.size()));
  EXPECT_NEAR(norm_of(words) / root / deviation, 1, 0.03) << "six deviations";
  for (size_t i = 0; i < words.size(); ++i)
    words[i] -= others[i];
  EXPECT_NEAR(norm_of(words) / root / deviation, std::sqrt(2.0), 0.05);
}

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

} // namespace troupe::private_sum_test
