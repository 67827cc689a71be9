#include "actors/step/gradient_ranges.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace troupe::gradient_ranges_test {

namespace {

timeline two_slices() {
  timeline plan;
  plan.row_count = plan.batch_size = 4;
  plan.slice_count = 2;
  return plan;
}

/// The elements [begin, end) of a gradient of one slice, all of this value.
contribution part(size_t slice, size_t begin, size_t end, float value) {
  const buffer values{end - begin};
  std::ranges::fill(values.values(), value);
  contribution result;
  result.node = {slice, slice + 1};
  result.first_element = begin;
  result.gradient_sum = payload{values, 0, values.size()};
  result.sums = {1.0 + static_cast<double>(slice), 2, 0, 0};
  return result;
}

/// A span of ten elements in three ranges: [2, 5), [5, 9), [9, 12).
gradient_ranges three_lanes() {
  return {two_slices(), 0, {2, 12}, {{0, 5}, {5, 9}, {9, 20}}};
}

} // namespace

TEST(gradient_ranges, a_step_is_complete_once_every_lane_is) {
  auto ranges = three_lanes();
  for (const auto& news :
       {part(0, 2, 9, 1), part(1, 2, 5, 2), part(1, 9, 12, 3), part(0, 9, 12, 4)}) {
    EXPECT_EQ(ranges.offer(news), offer_verdict::accepted);
    EXPECT_FALSE(ranges.is_complete());
  }
  EXPECT_EQ(ranges.offer(part(1, 5, 9, 5)), offer_verdict::accepted);
  ASSERT_TRUE(ranges.is_complete());
  const auto sums = ranges.sums(false);
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[1].elements, (index_range{5, 9}));
  EXPECT_EQ(sums[1].inputs.size(), 2u);
  EXPECT_EQ(sums[1].inputs[0][3], 1.0f) << "slice 0 first, whenever it came";
  EXPECT_EQ(sums[2].inputs[0][0], 4.0f);
  EXPECT_EQ(ranges.total(), (batch_sums{3, 4, 0, 0}));
  ranges.advance();
  EXPECT_EQ(ranges.version(), 1u);
  EXPECT_FALSE(ranges.is_complete());
}

TEST(gradient_ranges, parts_of_lanes_and_elements_of_others_are_malformed) {
  auto ranges = three_lanes();
  EXPECT_FALSE(ranges.fits(part(0, 2, 7, 1))) << "half of a lane";
  EXPECT_FALSE(ranges.fits(part(0, 1, 5, 1))) << "an element that is another's";
  EXPECT_FALSE(ranges.fits(part(0, 12, 20, 1)));
  EXPECT_TRUE(ranges.fits(part(0, 5, 12, 1)));
  EXPECT_EQ(ranges.offer(part(2, 2, 5, 1)), offer_verdict::malformed) << "no such slice";
}

TEST(gradient_ranges, what_comes_twice_is_ignored_and_other_bits_are_a_conflict) {
  auto ranges = three_lanes();
  EXPECT_EQ(ranges.offer(part(0, 2, 9, 1)), offer_verdict::accepted);
  EXPECT_EQ(ranges.offer(part(0, 2, 5, 1)), offer_verdict::duplicate);
  EXPECT_EQ(ranges.offer(part(0, 2, 12, 1)), offer_verdict::accepted) << "a lane of it is new";
  EXPECT_EQ(ranges.offer(part(0, 5, 9, 2)), offer_verdict::conflict);
  auto late = part(0, 2, 5, 1);
  late.step = 3;
  EXPECT_EQ(ranges.offer(late), offer_verdict::early);
}

TEST(gradient_ranges, a_span_that_nobody_splits_is_one_lane) {
  gradient_ranges ranges{two_slices(), 5, {2, 12}, {}};
  auto whole = part(0, 2, 12, 1);
  whole.step = 5;
  whole.node = {0, 2};
  EXPECT_EQ(ranges.offer(whole), offer_verdict::accepted);
  EXPECT_TRUE(ranges.is_complete());
  EXPECT_EQ(ranges.sums(false).size(), 1u);
  auto half = part(0, 2, 7, 1);
  half.step = 5;
  EXPECT_FALSE(ranges.fits(half));
}

} // namespace troupe::gradient_ranges_test
