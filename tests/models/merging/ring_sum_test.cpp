// Ring sums: the same words whatever the order, the tree and the parts; the exact sum but for one
// rounding a client; no overflow at the bounds; bad updates add nothing.

#include "models/merging/ring_sum.hpp"

#include "models/base/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace troupe::ring_sum_test {
namespace {

__extension__ using wide = __int128;

std::vector<float> values(size_t count, float low, float high, uint64_t major) {
  std::vector<float> result(count);
  fill_uniform({11, random_purpose::initialization, major}, 0, low, high, result);
  return result;
}

uint64_t weight_of(uint64_t client) {
  return 1 + client * 37 % 1024;
}

update_verdict add(ring_sum& sum, std::span<const float> start, std::span<const float> update,
                   uint64_t weight) {
  return sum.add(start, update, weight, measure_update(start, update));
}

// One scalar at a time, rounded by the library; the compiler may not gather calls into a vector loop.
[[gnu::noinline]] int64_t scalar_word(float start, float value, double factor) {
  return static_cast<int64_t>(
    std::nearbyint((static_cast<double>(value) - static_cast<double>(start)) * factor));
}

TEST(ring_sum, has_the_same_words_in_any_order_and_any_tree) {
  constexpr size_t clients = 10'000, size = 19;
  const ring_bounds bounds{8, 1024, clients};
  const auto start = values(size, -1, 1, 0);
  std::vector<std::vector<float>> updates;
  for (size_t k = 0; k < clients; ++k)
    updates.push_back(values(size, -3, 3, k + 1));
  ring_sum expected{bounds, size};
  for (size_t k = 0; k < clients; ++k)
    ASSERT_EQ(add(expected, start, updates[k], weight_of(k)), update_verdict::counted);
  for (uint64_t trial = 0; trial < 20; ++trial) {
    const auto order = random_permutation({trial, random_purpose::shuffle, 0}, clients);
    // Parts of all sizes, added to each other pair by pair in an order of their own.
    std::vector<ring_sum> parts;
    for (size_t begin = 0; begin < clients;) {
      const auto end = std::min<size_t>(clients, begin + 1 + (begin * 7 + trial) % 900);
      auto& part = parts.emplace_back(bounds, size);
      for (; begin < end; ++begin)
        add(part, start, updates[order[begin]], weight_of(order[begin]));
    }
    while (parts.size() > 1) {
      const auto i = trial * parts.size() / 23 % (parts.size() - 1);
      parts[i].add(parts.back());
      parts.pop_back();
    }
    ASSERT_EQ(parts.front(), expected) << "trial " << trial;
  }
}

TEST(ring_sum, sums_of_floats_depend_on_the_order) {
  std::vector<float> updates(1000);
  fill_uniform({3, random_purpose::initialization, 0}, 0, -3, 3, updates);
  const float forward = std::accumulate(updates.begin(), updates.end(), 0.0f);
  const float backward = std::accumulate(updates.rbegin(), updates.rend(), 0.0f);
  EXPECT_NE(forward, backward) << "what ring sums are for";
}

TEST(ring_sum, is_the_exact_sum_but_for_one_rounding_of_each_client) {
  constexpr size_t clients = 1'000, size = 7;
  const ring_bounds bounds{1024, 1024, clients};
  ring_sum sum{bounds, size};
  const auto start = values(size, -1, 1, 0);
  std::vector<wide> exact(size); // in units of 2^-60
  uint64_t weight_sum = 0;
  for (size_t k = 0; k < clients; ++k) {
    auto update = values(size, -2, 2, k + 1);
    for (auto& value : update) // multiples of 2^-22, so that differences are exact
      value = std::round(value * 0x1p22f) * 0x1p-22f;
    const auto weight = weight_of(k);
    weight_sum += weight;
    add(sum, start, update, weight);
    for (size_t j = 0; j < size; ++j) {
      const auto moved = static_cast<double>(update[j]) - static_cast<double>(start[j]);
      exact[j] += static_cast<wide>(std::ldexp(moved, 60)) * static_cast<wide>(weight);
    }
  }
  EXPECT_EQ(sum.weight(), weight_sum);
  EXPECT_EQ(sum.count(), clients);
  const double rounding = clients * std::ldexp(0.5, -sum.fraction_bits());
  const auto moved = sum.mean_onto(std::vector<float>(size));
  for (size_t j = 0; j < size; ++j) {
    const double true_sum = std::ldexp(static_cast<double>(exact[j]), -60);
    const double found = std::ldexp(static_cast<double>(sum.words()[j]), -sum.fraction_bits());
    EXPECT_NEAR(found, true_sum, rounding) << j;
    EXPECT_NEAR(moved[j], true_sum / static_cast<double>(weight_sum), 1e-6) << j;
  }
}

TEST(ring_sum, every_instruction_set_rounds_as_one_scalar_does) {
  for (size_t count = 1; count < 70; ++count) {
    const auto start = values(count, -4, 4, count);
    const auto update = values(count, -900, 900, count + 1000);
    ring_sum sum{{1024, 512, 3}, count};
    const uint64_t weight = 1 + count * 7;
    ASSERT_EQ(add(sum, start, update, weight), update_verdict::counted);
    const double factor = std::ldexp(static_cast<double>(weight), sum.fraction_bits());
    for (size_t j = 0; j < count; ++j)
      ASSERT_EQ(sum.words()[j], scalar_word(start[j], update[j], factor)) << count << ' ' << j;
  }
}

TEST(ring_sum, rounds_to_even) {
  ring_sum sum{{0x1p20, 1, 1}, 4};
  ASSERT_EQ(sum.fraction_bits(), 30);
  const std::vector<float> start(4), update{0x1p-31f, 0x3p-31f, -0x1p-31f, 0x5p-31f};
  add(sum, start, update, 1);
  EXPECT_EQ((std::vector<int64_t>{sum.words().begin(), sum.words().end()}),
            (std::vector<int64_t>{0, 2, 0, 2}));
}

TEST(ring_sum, cannot_overflow_at_its_bounds) {
  for (const ring_bounds& bounds : {ring_bounds{1024, 1024, 10'000}, ring_bounds{1000, 1000, 999},
                                    ring_bounds{1e-3, 1, 1'000'000}, ring_bounds{3, 5, 7}}) {
    const std::vector<float> start(1), update{static_cast<float>(bounds.range)};
    ring_bounds room = bounds;
    room.range = static_cast<double>(update[0]);
    ring_sum one{room, 1};
    ASSERT_EQ(add(one, start, update, room.weight_max), update_verdict::counted);
    const wide greatest = static_cast<wide>(one.words()[0]) * room.count_max;
    EXPECT_LE(greatest, std::numeric_limits<int64_t>::max());
    EXPECT_LT(one.words()[0], int64_t{1} << 51);
    // The bounds are used: four times as much would be too much for one of the two limits.
    EXPECT_TRUE(greatest * 8 > std::numeric_limits<int64_t>::max() ||
                one.words()[0] * 4 >= int64_t{1} << 51);
  }
}

TEST(ring_sum, refuses_what_is_not_finite_or_out_of_range) {
  const std::vector<float> start{1, 2, 3};
  ring_sum sum{{10, 4, 8}, 3};
  const ring_sum nothing = sum;
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto infinity = std::numeric_limits<float>::infinity();
  for (float bad : {nan, infinity, -infinity})
    EXPECT_EQ(add(sum, start, std::vector{1.0f, bad, 3.0f}, 1), update_verdict::not_finite);
  EXPECT_EQ(add(sum, start, std::vector{1.0f, 2.0f, 13.5f}, 1), update_verdict::out_of_range);
  EXPECT_EQ(add(sum, start, std::vector{1.0f, -9.0f, 3.0f}, 1), update_verdict::out_of_range);
  EXPECT_EQ(sum, nothing);
  EXPECT_EQ(add(sum, start, std::vector{1.0f, 12.0f, 3.0f}, 1), update_verdict::counted);
}

TEST(ring_sum, refuses_what_does_not_fit) {
  const std::vector<float> start(3);
  ring_sum sum{{10, 4, 2}, 3};
  EXPECT_THROW(add(sum, start, start, 0), std::invalid_argument);
  EXPECT_THROW(add(sum, start, start, 5), std::invalid_argument);
  EXPECT_THROW(sum.add(std::vector<float>(2), std::vector<float>(2), 1, {}), std::invalid_argument);
  EXPECT_THROW(sum.mean_onto(start), std::invalid_argument);
  add(sum, start, start, 4);
  add(sum, start, start, 4);
  EXPECT_THROW(add(sum, start, start, 4), std::invalid_argument) << "there is room for two";
  EXPECT_THROW(sum.add(ring_sum{{10, 4, 3}, 3}), std::invalid_argument) << "other bounds";
  EXPECT_THROW((ring_sum{{0, 1, 1}, 3}), std::invalid_argument);
  EXPECT_THROW((ring_sum{{1, uint64_t{1} << 40, uint64_t{1} << 30}, 3}), std::invalid_argument);
}

TEST(ring_sum, measures_an_update) {
  const std::vector<float> start{1, 2, 3}, update{1, 5, -1};
  const auto size = measure_update(start, update);
  EXPECT_EQ(size.norm, 5);
  EXPECT_EQ(size.largest, 4);
  for (size_t count : {1u, 15u, 16u, 17u, 100u})
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> x(count), y(count);
      y[i] = -7;
      EXPECT_EQ(measure_update(x, y).largest, 7) << count << ' ' << i;
    }
}

TEST(ring_sum, words_travel_as_two_vectors_of_bits) {
  const std::vector<int64_t> words{0, -1, std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int64_t>::max(), 0x7ff4000012345678};
  std::vector<float> low(words.size()), high(words.size());
  std::vector<int64_t> joined(words.size());
  split_words(words, low, high);
  join_words(low, high, joined);
  EXPECT_EQ(joined, words);
}

} // namespace
} // namespace troupe::ring_sum_test
