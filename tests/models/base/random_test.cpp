#include "models/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace troupe::random_test {
namespace {

const random_sequence sequence{42, random_purpose::initialization, 3};

// Known answer of Philox4x32-10 for counter and key of zeros and of ones, from Random123's
// kat_vectors.
TEST(random, words_are_philox4x32_10) {
  const random_sequence zeros{0, random_purpose{0}, 0};
  EXPECT_EQ(zeros.block(0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const random_sequence ones{~uint64_t{0}, random_purpose{0xffffffff}, ~uint64_t{0}};
  EXPECT_EQ(ones.block(0xffffffff),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(random, any_part_of_a_sequence_equals_the_whole_there) {
  std::vector<float> whole(103);
  for (bool normal : {false, true}) {
    const auto fill = [&](uint64_t first, std::span<float> out) {
      normal ? fill_normal(sequence, first, 2, out) : fill_uniform(sequence, first, -1, 1, out);
    };
    fill(0, whole);
    for (size_t first : {1u, 2u, 3u, 5u, 64u}) {
      std::vector<float> part(30);
      fill(first, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + long(first))) << first;
    }
  }
}

TEST(random, every_part_of_the_key_makes_another_sequence) {
  std::set<uint32_t> first_words;
  for (uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (auto purpose : {random_purpose::shuffle, random_purpose::split})
      for (uint64_t major : {0ull, 1ull, 1ull << 32})
        first_words.insert(random_word({seed, purpose, major}, 0));
  EXPECT_EQ(first_words.size(), 18u);
}

TEST(random, uniform_values_fill_their_range) {
  std::vector<float> values(100'000);
  fill_uniform(sequence, 0, -2, 3, values);
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_GE(low, -2);
  EXPECT_LT(high, 3);
  EXPECT_LT(low, -1.999);
  EXPECT_GT(high, 2.999);
  double mean = 0;
  for (auto x : values)
    mean += x / 1e5;
  EXPECT_NEAR(mean, 0.5, 0.02);
}

TEST(random, normal_values_have_the_moments_of_the_normal_distribution) {
  std::vector<float> values(200'000);
  fill_normal(sequence, 0, 1, values);
  double moments[5] = {};
  for (double x : values)
    for (int k = 1; k <= 4; ++k)
      moments[k] += std::pow(x, k) / 2e5;
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.015);
  EXPECT_NEAR(moments[3], 0, 0.03);
  EXPECT_NEAR(moments[4], 3, 0.1);
  const auto beyond = std::ranges::count_if(values, [](float x) { return std::abs(x) > 1.96f; });
  EXPECT_NEAR(double(beyond) / 2e5, 0.05, 0.003);
}

TEST(random, permutation_has_every_number_once) {
  for (uint32_t count : {0u, 1u, 2u, 5u, 1000u}) {
    auto order = random_permutation(sequence, count);
    std::ranges::sort(order);
    for (uint32_t i = 0; i < count; ++i)
      EXPECT_EQ(order[i], i);
    EXPECT_EQ(order.size(), count);
  }
}

TEST(random, every_permutation_is_as_likely_as_another) {
  std::array<int, 6> counts{};
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) {
    const auto order = random_permutation({7, random_purpose::shuffle, epoch}, 3);
    ++counts[order[0] * 2 + (order[1] > order[2] ? 1 : 0)];
  }
  for (auto count : counts)
    EXPECT_NEAR(count, 1000, 120); // four standard deviations
}

} // namespace
} // namespace troupe::random_test
