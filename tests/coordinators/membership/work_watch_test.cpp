#include "troupe/coordinators/membership/work_watch.hpp"

#include <gtest/gtest.h>

namespace troupe::work_watch_test {

using namespace std::chrono_literals;

namespace {

moment at(milliseconds x) {
  return moment{x};
}

} // namespace

TEST(work_watch, a_piece_is_measured_against_the_longest_that_ended) {
  work_watch watch{1s};
  EXPECT_FALSE(watch.hangs({9min, 0ms}, false)) << "nobody knows how long the first takes";
  EXPECT_TRUE(watch.hangs({11min, 0ms}, false));
  watch.on_report({0ms, 50ms}, at(1s));
  EXPECT_FALSE(watch.hangs({3s, 50ms}, false)) << "3 x lost_after at least";
  EXPECT_TRUE(watch.hangs({3001ms, 50ms}, false));
  watch.on_report({0ms, 6s}, at(2s));
  EXPECT_FALSE(watch.hangs({120s, 6s}, false)) << "slices of 6 s are no fault";
  EXPECT_TRUE(watch.hangs({121s, 6s}, false));
}

TEST(work_watch, who_stops_a_run_waits_less) {
  work_watch watch{1s};
  EXPECT_TRUE(watch.hangs({2001ms, 0ms}, true));
  watch.on_report({0ms, 6s}, at(1s));
  EXPECT_FALSE(watch.hangs({18s, 6s}, true));
  EXPECT_TRUE(watch.hangs({18'001ms, 6s}, true));
}

TEST(work_watch, a_run_stands_still_when_nothing_moves_and_nobody_works) {
  work_watch watch{1s};
  watch.on_moved(at(10s));
  EXPECT_FALSE(watch.stands_still(at(13s)));
  EXPECT_TRUE(watch.stands_still(at(13'001ms)));
  watch.on_report({499ms, 0ms}, at(13s));
  EXPECT_TRUE(watch.stands_still(at(13'001ms))) << "so little holds nobody up";
  watch.on_report({500ms, 0ms}, at(13s));
  EXPECT_FALSE(watch.stands_still(at(16s)));
}

TEST(work_watch, a_long_step_is_no_news) {
  work_watch watch{1s};
  EXPECT_FALSE(watch.works_as_usual({3s, 0ms}));
  watch.on_report({0ms, 6s}, at(1s));
  EXPECT_TRUE(watch.works_as_usual({7s, 6s}));
  EXPECT_FALSE(watch.works_as_usual({19s, 6s}));
  EXPECT_FALSE(watch.works_as_usual({0ms, 6s}));
}

} // namespace troupe::work_watch_test
