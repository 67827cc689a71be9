#include "models/privacy/secret_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace troupe::secret_stream_test {

namespace {

secret_key counted_key() {
  secret_key key{};
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(i);
  return key;
}

} // namespace

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
  constexpr int draw_count = 70'000;
  std::array<int, limit> counts{};
  for (int i = 0; i < draw_count; ++i)
    ++counts.at(stream.below(limit));
  double chi_square = 0;
  for (const auto count : counts)
    chi_square += std::pow(count - draw_count / 7.0, 2) / (draw_count / 7.0);
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

} // namespace troupe::secret_stream_test
