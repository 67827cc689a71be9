// Slices by speed, against all shares there are; and the chunks of evaluations that go with slices.

#include "coordinators/step/placement.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

namespace troupe::placement_by_speed_test {
namespace {

/// The least time of a step among all shares of `count` slices.
double least_time(size_t count, const std::vector<double>& speeds, size_t from = 0) {
  if (from + 1 == speeds.size())
    return static_cast<double>(count) / speeds[from];
  double best = 1e30;
  for (size_t own = 0; own <= count; ++own)
    best = std::min(best, std::max(static_cast<double>(own) / speeds[from],
                                   least_time(count - own, speeds, from + 1)));
  return best;
}

void expect_partition(const std::vector<index_range>& parts, size_t count) {
  size_t next = 0;
  for (const auto& part : parts)
    if (!part.empty()) {
      ASSERT_EQ(part.begin, next);
      next = part.end;
    }
  ASSERT_EQ(next, count);
}

TEST(placement_by_speed, takes_a_thirtieth_more_than_the_best_of_all_shares_at_most) {
  std::mt19937_64 random{7};
  for (int trial = 0; trial < 400; ++trial) {
    const size_t count = 1 + random() % 20;
    std::vector<double> speeds(1 + random() % 4);
    for (auto& speed : speeds)
      speed = 0.05 + static_cast<double>(random() % 100) / 50;
    const auto parts = assign_slices(count, speeds);
    ASSERT_EQ(parts.size(), speeds.size());
    expect_partition(parts, count);
    ASSERT_LE(step_time(parts, speeds), (1 + 1.0 / 30) * least_time(count, speeds) + 1e-12);
  }
}

TEST(placement_by_speed, loses_no_more_than_the_slices_cost_that_cannot_be_cut) {
  std::mt19937_64 random{11};
  for (int trial = 0; trial < 1'000; ++trial) {
    const size_t count = 1 + random() % 64;
    std::vector<double> speeds(1 + random() % 8);
    for (auto& speed : speeds)
      speed = 0.01 + static_cast<double>(random() % 1000) / 500;
    const auto sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    const auto efficiency =
      static_cast<double>(count) / sum / step_time(assign_slices(count, speeds), speeds);
    const auto bound = static_cast<double>(count) / static_cast<double>(count + speeds.size());
    ASSERT_GE(efficiency, bound / (1 + 1.0 / 30));
  }
}

std::vector<size_t> sizes_of(const std::vector<index_range>& parts) {
  std::vector<size_t> result;
  for (const auto& part : parts)
    result.push_back(part.size());
  return result;
}

TEST(placement_by_speed, one_that_is_ten_times_slower) {
  const std::vector<double> speeds{1, 1, 1, 0.1};
  using sizes = std::vector<size_t>;
  EXPECT_EQ(sizes_of(assign_slices(8, speeds)), (sizes{3, 3, 2, 0}));
  EXPECT_EQ(step_time(assign_slices(32, speeds), speeds), 11);
  EXPECT_EQ(sizes_of(assign_slices(32, speeds)).back(), 1u);
  EXPECT_LE(step_time(assign_slices(64, speeds), speeds), 22);
}

TEST(placement_by_speed, equal_ones_share_as_without_speeds) {
  for (size_t count = 1; count <= 40; ++count)
    for (size_t replicas = 1; replicas <= 9; ++replicas) {
      const std::vector<double> equal(replicas, 3.5);
      ASSERT_EQ(assign_slices(count, equal), assign_slices(count, replicas));
      std::vector<double> nearly(replicas, 1.0);
      nearly.front() = 1.01; // noise
      ASSERT_EQ(assign_slices(32, nearly), assign_slices(32, replicas));
    }
}

TEST(placement_by_speed, ranges_begin_at_powers_of_two_where_that_costs_nothing) {
  EXPECT_EQ(assign_slices(32, std::vector<double>{3, 1}),
            (std::vector<index_range>{{0, 24}, {24, 32}}));
  EXPECT_EQ(assign_slices(32, std::vector<double>{2.95, 1.05}),
            (std::vector<index_range>{{0, 24}, {24, 32}}));
}

TEST(chunks_of_group, each_chunk_is_of_one_replica_and_goes_with_its_slices) {
  std::mt19937_64 random{3};
  for (int trial = 0; trial < 300; ++trial) {
    timeline plan;
    plan.slice_count = 1 + random() % 32;
    std::vector<double> speeds(1 + random() % 5);
    for (auto& speed : speeds)
      speed = 0.1 + static_cast<double>(random() % 10);
    const auto slices = assign_slices(plan.slice_count, speeds);
    const evaluation_rows rows{chunked_rows{random() % 5'000}, chunked_rows{random() % 3'000}};
    std::vector<int> owners(rows.chunk_count(), 0);
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i].empty())
        continue;
      size_t count = 0;
      for (const auto& range : chunks_of_group(slices, i, rows, plan))
        for (auto chunk = range.begin; chunk < range.end; ++chunk, ++count)
          ++owners.at(chunk);
      const auto fair = static_cast<double>(rows.chunk_count() * slices[i].size()) /
                        static_cast<double>(plan.slice_count);
      ASSERT_LT(static_cast<double>(count), fair + 1);
    }
    for (const auto count : owners)
      ASSERT_EQ(count, 1);
  }
}

} // namespace
} // namespace troupe::placement_by_speed_test
