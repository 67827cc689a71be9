#include "troupe/coordinators/run/version_times.hpp"

#include <gtest/gtest.h>

namespace troupe::version_times_test {
namespace {

TEST(version_times, the_first_word_on_a_version_counts_until_nobody_asks) {
  version_times times;
  EXPECT_EQ(times.of(0), std::nullopt);
  times.add(5, 1.5, true);
  times.add(5, 9, true);
  times.add(6, 1.7, false);
  EXPECT_EQ(times.of(6), 1.7);
  times.add(7, 2, false);
  times.add(7, 3, true);
  EXPECT_EQ(times.of(5), 1.5);
  EXPECT_EQ(times.of(6), std::nullopt);
  EXPECT_EQ(times.of(7), 2);
  times.forget_below(7);
  EXPECT_EQ(times.of(5), std::nullopt);
  EXPECT_EQ(times.of(7), 2);
  times.clear();
  EXPECT_EQ(times.of(7), std::nullopt);
}

TEST(version_times, a_row_that_waits_is_not_forgotten_for_progress) {
  version_times times;
  times.add(10, 1, true);
  for (uint64_t version = 11; version < 100'000; ++version)
    times.add(version, 2, false);
  EXPECT_EQ(times.of(10), 1);
  EXPECT_EQ(times.size(), 1u);
}

TEST(version_times, a_run_without_rows_takes_no_more_memory_with_time) {
  version_times times;
  for (uint64_t version = 1; version < 100'000; ++version) {
    times.add(version, static_cast<double>(version), true);
    ASSERT_LE(times.size(), version_times::kept_max);
  }
  EXPECT_EQ(times.of(99'999), 99'999);
  EXPECT_EQ(times.of(99'950), 99'950);
}

} // namespace
} // namespace troupe::version_times_test
