#include "coordinators/step/placement.hpp"

#include <gtest/gtest.h>

namespace troupe::placement_test {

namespace {

using ranges = std::vector<index_range>;

} // namespace

TEST(placement, parts_are_contiguous_and_differ_by_at_most_one) {
  EXPECT_EQ(split_evenly(7, 3), (ranges{{0, 2}, {2, 4}, {4, 7}}));
  EXPECT_EQ(split_evenly(2, 4), (ranges{{0, 0}, {0, 1}, {1, 1}, {1, 2}}));
  EXPECT_EQ(split_evenly(5, 1), (ranges{{0, 5}}));
  EXPECT_EQ(split_evenly(5, 0), ranges{});
  for (size_t count = 0; count < 40; ++count)
    for (size_t parts = 1; parts < 12; ++parts) {
      size_t next = 0;
      for (const auto& part : split_evenly(count, parts)) {
        ASSERT_EQ(part.begin, next);
        ASSERT_GE(part.size(), count / parts);
        ASSERT_LE(part.size(), (count + parts - 1) / parts);
        next = part.end;
      }
      ASSERT_EQ(next, count);
    }
}

TEST(placement, replicas_share_the_slices) {
  EXPECT_EQ(assign_slices(8, 2), (ranges{{0, 4}, {4, 8}}));
  EXPECT_EQ(assign_slices(5, 2), (ranges{{0, 2}, {2, 5}}));
  EXPECT_EQ(assign_slices(3, 3), (ranges{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(placement, replicas_beyond_the_slices_are_spares_at_the_end) {
  EXPECT_EQ(assign_slices(2, 4), (ranges{{0, 1}, {1, 2}, {0, 0}, {0, 0}}));
}

TEST(placement, parameters_are_cut_into_blocks_of_4096) {
  EXPECT_EQ(block_count(0), 0u);
  EXPECT_EQ(block_count(1), 1u);
  EXPECT_EQ(block_count(4096), 1u);
  EXPECT_EQ(block_count(4097), 2u);
}

TEST(placement, shards_own_whole_blocks_and_some_none) {
  EXPECT_EQ(assign_blocks(3 * 4096 + 1, 2), (ranges{{0, 2}, {2, 4}}));
  EXPECT_EQ(assign_blocks(100, 3), (ranges{{0, 0}, {0, 0}, {0, 1}}));
}

TEST(placement, the_last_block_ends_with_the_parameters) {
  const size_t count = 3 * 4096 + 1;
  EXPECT_EQ(elements_of_blocks({0, 2}, count), (index_range{0, 8192}));
  EXPECT_EQ(elements_of_blocks({2, 4}, count), (index_range{8192, count}));
  EXPECT_TRUE(elements_of_blocks({4, 4}, count).empty()) << "also beyond the end";
}

TEST(placement, shards_partition_the_parameters) {
  for (size_t count : {1u, 4096u, 50'000u, 123'457u})
    for (size_t shards = 1; shards < 9; ++shards) {
      size_t next = 0;
      for (const auto& blocks : assign_blocks(count, shards)) {
        const auto elements = elements_of_blocks(blocks, count);
        ASSERT_EQ(elements.begin, next);
        next = elements.end;
      }
      ASSERT_EQ(next, count);
    }
}

TEST(placement, short_steps_stay_on_one_thread) {
  EXPECT_EQ(useful_threads({1'000, 11}, 8), 1u);
  EXPECT_EQ(useful_threads({99'999, 10}, 8), 1u);
  EXPECT_EQ(useful_threads({100'000, 10}, 8), 8u);
  EXPECT_EQ(useful_threads({1, 2'000'000}, 8), 8u);
  EXPECT_EQ(useful_threads({size_t{1} << 63, 1000}, 8), 8u) << "no product overflows";
}

TEST(placement, one_replica_has_one_thread_unless_its_update_is_long) {
  EXPECT_EQ(useful_threads({128, 1'000'000, true, 2}, 8), 1u);
  EXPECT_EQ(useful_threads({128, 1'000'000, false, 2}, 8), 8u);
  EXPECT_EQ(useful_threads({128, 2'000'000, true, 2}, 8), 8u);
  EXPECT_EQ(useful_threads({128, 100'000'000, true, 0}, 8), 1u) << "it remembers nothing";
  EXPECT_EQ(useful_threads({128, size_t{1} << 62, true, 2}, 8), 8u);
}

} // namespace troupe::placement_test
