#include "troupe/coordinators/run/stop_signals.hpp"

#include <gtest/gtest.h>

namespace troupe::stop_signals_test {
namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

TEST(stop_signals, what_comes_together_is_one_signal) {
  EXPECT_FALSE(is_another_signal(at(5), at(5)));
  EXPECT_FALSE(is_another_signal(at(5), at(1'004)));
  EXPECT_TRUE(is_another_signal(at(5), at(1'005)));
}

TEST(leave_rule, nobody_leaves_unasked) {
  leave_rule rule;
  EXPECT_FALSE(rule.is_due(false, at(1'000'000)));
}

TEST(leave_rule, worker_stays_for_a_moment_and_longer_while_the_run_stops) {
  leave_rule rule;
  rule.ask(at(100));
  rule.ask(at(1'500)); // changes nothing
  EXPECT_FALSE(rule.is_due(false, at(2'099)));
  EXPECT_TRUE(rule.is_due(false, at(2'100)));
  EXPECT_FALSE(rule.is_due(true, at(20'099)));
  EXPECT_TRUE(rule.is_due(true, at(20'100))) << "supervisors wait for 30 s";
}

} // namespace
} // namespace troupe::stop_signals_test
