#include "actors/base/work_gauge.hpp"

#include <gtest/gtest.h>

namespace troupe::work_gauge_test {

using namespace std::chrono_literals;

TEST(work_gauge, a_time_in_which_the_process_stood_still_is_no_work) {
  work_gauge gauge;
  constexpr moment begin{1h};
  gauge.begin(begin, {trace_kind::slice, 3, 1});
  gauge.restart(begin + 16s);
  EXPECT_EQ(gauge.since(), begin + 16s);
  gauge.end(begin + 17s, true);
  EXPECT_NEAR(gauge.longest() / 1ms, 1000, 1);
  gauge.begin(begin + 20s, {trace_kind::slice, 4, 1});
  gauge.end(begin + 40s, true); // it ended before anybody saw that the process had stood still
  gauge.restart(begin + 40s);
  EXPECT_EQ(gauge.since(), std::nullopt) << "nothing is under way";
  EXPECT_EQ(gauge.longest(), 0s);
}

} // namespace troupe::work_gauge_test
