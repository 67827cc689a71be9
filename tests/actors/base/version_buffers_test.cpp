#include "actors/base/version_buffers.hpp"

#include "coordinators/step/placement.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace troupe::version_buffers_test {

TEST(version_buffers, hold_a_window_and_all_elements_again) {
  version_buffers versions{100};
  EXPECT_EQ(versions.of(0).size(), 100u);
  versions.set_window(std::make_shared<const element_window>(std::vector<index_range>{{10, 30}}));
  EXPECT_EQ(versions.of(1).size(), 20u);
  versions.set_window(nullptr);
  EXPECT_EQ(versions.window(), nullptr);
  EXPECT_EQ(versions.of(2).size(), 100u);
}

namespace {

constexpr size_t size = 3 * block_size + 10; // the last block is short

std::vector<float> values(float first) {
  std::vector<float> result(size);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST(version_hashing, does_not_depend_on_who_owns_which_blocks) {
  const auto all = values(0);
  const auto slot = values(7);
  const auto whole = hash_of_blocks(0, all, {slot});
  EXPECT_NE(whole.state, hash_sum{});
  for (size_t cut = 1; cut < 4; ++cut) {
    const std::span<const float> x{all}, y{slot};
    const auto at = cut * block_size;
    auto sum = hash_of_blocks(cut, x.subspan(at), {y.subspan(at)});
    sum += hash_of_blocks(0, x.first(at), {y.first(at)});
    EXPECT_EQ(sum, whole) << cut;
  }
}

TEST(version_hashing, every_bit_and_every_place_counts) {
  const auto whole = hash_of_blocks(0, values(0)).parameters;
  for (const size_t at : {size_t{0}, block_size, size - 1}) {
    auto other = values(0);
    other[at] = -other[at] - 1;
    EXPECT_NE(hash_of_blocks(0, other).parameters, whole) << at;
  }
  auto swapped = values(0); // two whole blocks
  std::swap_ranges(swapped.begin(), swapped.begin() + block_size, swapped.begin() + block_size);
  EXPECT_NE(hash_of_blocks(0, swapped).parameters, whole);
  auto zeros = std::vector<float>(size, 0.0f);
  const auto plus = hash_of_blocks(0, zeros).parameters;
  zeros[5] = -0.0f;
  EXPECT_NE(hash_of_blocks(0, zeros).parameters, plus) << "equal values, other bits";
}

TEST(version_hashing, vectors_of_a_state_do_not_change_places_unseen) {
  const auto all = values(0), a = values(1), b = values(2);
  EXPECT_NE(hash_of_blocks(0, all, {a, b}).state, hash_of_blocks(0, all, {b, a}).state);
  EXPECT_EQ(hash_of_blocks(0, all).state, hash_sum{});
}

} // namespace

} // namespace troupe::version_buffers_test
