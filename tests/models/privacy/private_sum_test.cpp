// Private sums: one client moves the sum by its sensitivity at most, and the noise is what it is said to be.

#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/merging/ring_sum.hpp"
#include "models/privacy/private_sum.hpp"
#include "models/privacy/secret_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
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

secret_key counted_key() {
  secret_key key{};
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(i);
  return key;
}

// RFC 8439, section 2.3.2.
TEST(secret_stream, is_chacha20) {
  const auto block = chacha20_block(counted_key(), 1, {0x09000000, 0x4a000000, 0});
  const std::array<uint32_t, 16> expected{
    0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
    0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_EQ(block, expected);
}

TEST(secret_stream, repeats_under_its_name_and_under_no_other) {
  const auto key = counted_key();
  const auto words = [](const secret_key& k, const secret_name& name) {
    secret_stream stream{k, name};
    return std::array{stream.next_64(), stream.next_64()};
  };
  const secret_name name{secret_purpose::noise, 7, 1};
  EXPECT_EQ(words(key, name), words(key, name));
  auto other_key = key;
  other_key[31] ^= 1;
  std::set<std::array<uint64_t, 2>> all{words(key, name), words(other_key, name)};
  all.insert(words(key, {secret_purpose::cohort, 7, 1}));
  all.insert(words(key, {secret_purpose::noise, 7, 2}));
  all.insert(words(key, {secret_purpose::noise, 8, 1}));
  all.insert(words(key, {secret_purpose::noise, 7 + (uint64_t{1} << 32), 1}));
  EXPECT_EQ(all.size(), 6u);
  EXPECT_THROW(words(key, {secret_purpose::noise, uint64_t{1} << 40, 0}), std::invalid_argument);
  EXPECT_THROW(words(key, {secret_purpose::noise, 0, uint64_t{1} << 32}), std::invalid_argument);
}

TEST(secret_stream, draws_below_a_limit_evenly) {
  secret_stream stream{counted_key(), {}};
  constexpr uint64_t limit = 7;
  constexpr int draws = 70'000;
  std::array<int, limit> counts{};
  for (int i = 0; i < draws; ++i)
    ++counts.at(stream.below(limit));
  double chi_square = 0;
  for (const auto count : counts)
    chi_square += std::pow(count - draws / 7.0, 2) / (draws / 7.0);
  EXPECT_LT(chi_square, 22.5) << "0.999 of 6 degrees";
  EXPECT_EQ(stream.below(1), 0u);
  EXPECT_THROW(stream.below(0), std::invalid_argument);
}

TEST(secret_cohort, takes_each_client_with_the_same_probability) {
  constexpr uint32_t client_count = 200;
  constexpr int round_count = 2000;
  constexpr double rate = 0.1;
  std::vector<int> turns(client_count);
  double square_sum = 0;
  for (int round = 0; round < round_count; ++round) {
    const auto cohort =
      secret_cohort(counted_key(), static_cast<uint64_t>(round), 0, client_count, rate);
    EXPECT_TRUE(std::ranges::is_sorted(cohort));
    EXPECT_LE(cohort.size(), cohort_size_max(client_count, rate));
    square_sum += std::pow(static_cast<double>(cohort.size()) - rate * client_count, 2);
    for (const auto client : cohort)
      ++turns.at(client);
  }
  const double expected = rate * round_count;
  double chi_square = 0;
  for (const auto count : turns)
    chi_square += std::pow(count - expected, 2) / (expected * (1 - rate));
  EXPECT_LT(chi_square, 268) << "0.999 of 200 degrees";
  EXPECT_GT(chi_square, 143) << "0.001: fixed turns would have none";
  EXPECT_NEAR(square_sum / round_count, client_count * rate * (1 - rate), 2)
    << "sizes are binomial, not fixed";
}

TEST(secret_cohort, is_another_one_at_another_attempt) {
  const auto key = counted_key();
  EXPECT_EQ(secret_cohort(key, 3, 0, 1000, 0.5), secret_cohort(key, 3, 0, 1000, 0.5));
  EXPECT_NE(secret_cohort(key, 3, 0, 1000, 0.5), secret_cohort(key, 3, 1, 1000, 0.5));
  EXPECT_EQ(secret_cohort(key, 3, 0, 1000, 1).size(), 1000u);
  EXPECT_THROW(secret_cohort(key, 3, 0, 1000, 0), std::invalid_argument);
  EXPECT_EQ(cohort_size_max(1000, 1), 1000u);
}

} // namespace
} // namespace troupe::private_sum_test
