// Private sums: one client moves the sum by its sensitivity at most, and the noise is what it is said to be.

#include "troupe/models/privacy/private_sum.hpp"

#include "troupe/models/base/random.hpp"
#include "troupe/models/base/rounding.hpp"
#include "troupe/models/merging/ring_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
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

} // namespace troupe::private_sum_test
