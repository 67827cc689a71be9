#include "coordinators/step/lane_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace troupe::lane_order_test {

namespace {

lane_options some_lanes(size_t rows, size_t batch, size_t slices, size_t chunk_rows,
                        size_t window_chunks) {
  lane_options result;
  result.seed = 5;
  result.plan = {rows, batch, slices, 3, std::nullopt, 1};
  for (size_t begin = 0; begin < rows; begin += chunk_rows)
    result.chunk_begins.push_back(begin);
  result.chunk_begins.push_back(rows);
  result.window_chunks = window_chunks;
  return result;
}

/// The rows of a step's slice, window by window.
std::vector<uint32_t> rows_of(const lane_order& lanes, const lane_epoch& order, uint64_t step,
                              size_t slice) {
  std::vector<uint32_t> result;
  const auto wanted = lanes.positions(step, slice);
  for (auto at = wanted.begin; at < wanted.end;) {
    const auto number = lanes.window_at(order, slice, at);
    const auto window = lanes.window(order, slice, number);
    EXPECT_LE(window.positions.begin, at);
    EXPECT_GT(window.positions.end, at);
    EXPECT_LT(number, lanes.window_count(order, slice));
    const auto end = std::min(wanted.end, window.positions.end);
    for (; at < end; ++at)
      result.push_back(window.rows.at(at - window.positions.begin));
  }
  return result;
}

} // namespace

// Any shape: rows, batches, slices, chunks and windows by seed.
TEST(lane_order, each_epoch_visits_each_row_once_and_slices_keep_their_counts) {
  std::mt19937 random{1};
  const auto upto = [&](size_t n) { return 1 + random() % n; };
  for (int trial = 0; trial < 300; ++trial) {
    const auto rows = upto(300);
    auto options = some_lanes(rows, upto(rows), upto(9), upto(40), upto(6));
    if (trial % 3 == 0) // chunks of any size, some of them empty
      for (size_t k = 1; k + 1 < options.chunk_begins.size(); ++k)
        options.chunk_begins[k] =
          std::max(options.chunk_begins[k - 1], options.chunk_begins[k] - random() % 3);
    const lane_order lanes{options};
    const auto& plan = options.plan;
    for (const uint64_t epoch : {0, 2}) {
      const auto order = lanes.epoch(epoch);
      std::set<uint32_t> seen;
      for (uint64_t k = 0; k < plan.steps_in_epoch(); ++k)
        for (size_t slice = 0; slice < plan.slice_count; ++slice) {
          const auto step = epoch * plan.steps_in_epoch() + k;
          const auto found = rows_of(lanes, order, step, slice);
          ASSERT_EQ(found.size(), plan.rows_of_slice(step, slice).size());
          for (const auto row : found)
            ASSERT_TRUE(seen.insert(row).second) << "trial " << trial << ", row " << row;
        }
      ASSERT_EQ(seen.size(), rows);
      ASSERT_EQ(*seen.rbegin(), rows - 1);
    }
  }
}

TEST(lane_order, a_lane_takes_its_share_of_the_chunks_and_two_that_it_shares) {
  const lane_order lanes{some_lanes(10'000, 100, 4, 50, 3)};
  const auto order = lanes.epoch(1);
  std::multiset<uint32_t> read;
  for (size_t slice = 0; slice < 4; ++slice) {
    size_t chunks = 0;
    for (size_t k = 0; k < lanes.window_count(order, slice); ++k) {
      const auto window = lanes.window(order, slice, k);
      EXPECT_LE(window.chunks.size(), 3u);
      chunks += window.chunks.size();
      read.insert(window.chunks.begin(), window.chunks.end());
    }
    EXPECT_LE(chunks, 200u / 4 + 2);
  }
  EXPECT_LE(read.size(), 200u + 3) << "chunks where a lane ends are read twice";
}

TEST(lane_order, follows_from_seed_epoch_and_shape_alone) {
  const auto options = some_lanes(1000, 60, 3, 50, 2);
  const lane_order one{options}, other{options};
  const auto order = one.epoch(4);
  EXPECT_EQ(order.chunks, other.epoch(4).chunks);
  EXPECT_NE(order.chunks, one.epoch(5).chunks);
  // The last window first: nothing is drawn "next".
  const auto last = other.window(order, 2, other.window_count(order, 2) - 1).rows;
  for (size_t k = 0; k < one.window_count(order, 2); ++k)
    one.window(order, 2, k);
  EXPECT_EQ(one.window(order, 2, one.window_count(order, 2) - 1).rows, last);
  auto seeded = options;
  seeded.seed = 6;
  EXPECT_NE(lane_order{seeded}.epoch(4).chunks, order.chunks);
  EXPECT_NE(one.window(order, 0, 0).rows, one.window(order, 1, 0).rows);
}

TEST(lane_order, rows_of_a_window_are_shuffled) {
  const lane_order lanes{some_lanes(1000, 100, 1, 250, 2)};
  const auto window = lanes.window(lanes.epoch(0), 0, 0);
  ASSERT_EQ(window.rows.size(), 500u);
  size_t neighbours = 0;
  for (size_t i = 1; i < window.rows.size(); ++i)
    neighbours += window.rows[i] == window.rows[i - 1] + 1;
  EXPECT_LT(neighbours, 10u);
}

TEST(lane_order, chunks_without_the_timelines_rows_are_refused) {
  auto options = some_lanes(100, 10, 2, 10, 1);
  options.plan.row_count = 101;
  EXPECT_THROW(lane_order{options}, std::invalid_argument);
}

} // namespace troupe::lane_order_test
