#include "coordinators/links/launch_rule.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace troupe::launch_rule_test {
namespace {

using actions = std::vector<launch_action>;

constexpr process_end good{0, 0};
constexpr process_end exited(int code) {
  return {code, 0};
}
constexpr process_end killed(int signal) {
  return {0, signal};
}

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

// Three processes; the director is number 1, so that being the first is no merit.
class launch : public testing::Test {
protected:
  launch_rule rule{{3, 1, milliseconds{30'000}, milliseconds{2'000}, milliseconds{5'000}}};
};

TEST_F(launch, run_that_goes_well_needs_nothing) {
  EXPECT_FALSE(rule.deadline());
  EXPECT_EQ(rule.on_end(0, good, at(0)), actions{});
  EXPECT_EQ(rule.on_end(1, good, at(1)), actions{});
  EXPECT_FALSE(rule.finished());
  EXPECT_EQ(rule.on_end(2, good, at(2)), actions{});
  EXPECT_TRUE(rule.finished());
  EXPECT_EQ(rule.exit_code(), 0);
  EXPECT_FALSE(rule.first_failure());
  EXPECT_FALSE(rule.was_refused());
}

TEST_F(launch, who_stays_after_the_director_is_asked_then_killed) {
  rule.on_end(1, good, at(100));
  rule.on_end(0, good, at(200));
  EXPECT_EQ(rule.deadline(), at(2'100));
  EXPECT_EQ(rule.on_time(at(2'099)), actions{});
  EXPECT_EQ(rule.on_time(at(2'100)), (actions{{2, SIGTERM}}));
  EXPECT_EQ(rule.deadline(), at(7'100));
  EXPECT_EQ(rule.on_time(at(7'100)), (actions{{2, SIGKILL}}));
  EXPECT_FALSE(rule.deadline());
  rule.on_end(2, killed(SIGKILL), at(10'200));
  EXPECT_EQ(rule.exit_code(), 0);
  EXPECT_FALSE(rule.first_failure()) << "it was killed by us";
}

TEST_F(launch, directors_own_code_is_the_runs) {
  EXPECT_EQ(rule.on_end(1, exited(1), at(0)), (actions{{0, SIGTERM}, {2, SIGTERM}}))
    << "it may have told nobody";
  rule.on_end(0, exited(1), at(1));
  rule.on_end(2, good, at(1));
  EXPECT_EQ(rule.exit_code(), 1);
  EXPECT_EQ(rule.first_failure(), 1u);
}

TEST_F(launch, killed_director_ends_the_run_at_once) {
  EXPECT_EQ(rule.on_end(1, killed(SIGSEGV), at(7)), (actions{{0, SIGTERM}, {2, SIGTERM}}));
  EXPECT_EQ(rule.deadline(), at(5'007));
  rule.on_end(0, exited(143), at(8));
  rule.on_end(2, killed(SIGTERM), at(8));
  EXPECT_EQ(rule.exit_code(), 128 + SIGSEGV);
  EXPECT_EQ(rule.first_failure(), 1u);
}

TEST_F(launch, lost_node_does_not_end_the_run_but_is_remembered) {
  for (const auto& end : {killed(SIGKILL), exited(70), exited(69)}) {
    launch_rule lost{{3, 1}};
    EXPECT_EQ(lost.on_end(2, end, at(0)), actions{});
    EXPECT_FALSE(lost.deadline());
    lost.on_end(0, killed(SIGKILL), at(1));
    EXPECT_EQ(lost.first_failure(), 2u);
    lost.on_end(1, good, at(2));
    EXPECT_EQ(lost.exit_code(), 0);
    EXPECT_EQ(lost.end_of(2), end);
  }
}

TEST_F(launch, node_that_would_refuse_again_stops_the_run_and_gives_its_code) {
  EXPECT_EQ(rule.on_end(2, exited(76), at(0)), (actions{{1, SIGTERM}}));
  EXPECT_TRUE(rule.was_refused());
  EXPECT_EQ(rule.deadline(), at(30'000));
  EXPECT_EQ(rule.on_end(0, exited(66), at(1)), actions{}) << "the run is being stopped already";
  EXPECT_EQ(rule.on_end(1, exited(143), at(2)), actions{});
  EXPECT_TRUE(rule.finished());
  EXPECT_EQ(rule.first_failure(), 2u);
  EXPECT_EQ(rule.exit_code(), 76);
}

TEST_F(launch, refusal_after_the_directors_end_changes_nothing) {
  rule.on_end(1, good, at(0));
  EXPECT_EQ(rule.on_end(2, exited(66), at(1)), actions{});
  rule.on_end(0, good, at(1));
  EXPECT_FALSE(rule.was_refused());
  EXPECT_EQ(rule.exit_code(), 0);
}

TEST_F(launch, first_signal_goes_to_the_director_alone) {
  for (const int number : {SIGINT, SIGTERM}) {
    launch_rule stopped{{3, 1}};
    EXPECT_EQ(stopped.on_stop_signal(number, at(0)), (actions{{1, number}}));
    stopped.on_end(1, exited(128 + number), at(10));
    stopped.on_end(0, good, at(10));
    stopped.on_end(2, good, at(10));
    EXPECT_EQ(stopped.exit_code(), 128 + number);
    EXPECT_FALSE(stopped.first_failure());
  }
}

TEST_F(launch, second_signal_kills_everybody_at_once) {
  rule.on_end(0, good, at(0));
  rule.on_stop_signal(SIGINT, at(1));
  EXPECT_EQ(rule.on_stop_signal(SIGINT, at(1'001)), (actions{{1, SIGKILL}, {2, SIGKILL}}));
  rule.on_end(1, killed(SIGKILL), at(3));
  rule.on_end(2, killed(SIGKILL), at(3));
  EXPECT_EQ(rule.exit_code(), 128 + SIGINT);
  EXPECT_FALSE(rule.first_failure());
}

TEST_F(launch, signals_that_come_together_are_one) {
  EXPECT_EQ(rule.on_stop_signal(SIGTERM, at(1)), (actions{{1, SIGTERM}}));
  EXPECT_EQ(rule.on_stop_signal(SIGTERM, at(1)), actions{});
  EXPECT_EQ(rule.on_stop_signal(SIGINT, at(1'000)), actions{});
  EXPECT_EQ(rule.deadline(), at(30'001)) << "the director still has its time";
}

TEST_F(launch, nobody_failed_whom_the_runs_stop_signal_reached_too) {
  rule.on_end(2, exited(143), at(0)); // it was told before us
  rule.on_stop_signal(SIGTERM, at(1));
  rule.on_end(0, killed(SIGTERM), at(2)); // it had not begun
  rule.on_end(1, exited(143), at(3));
  EXPECT_FALSE(rule.first_failure());
  EXPECT_EQ(rule.exit_code(), 143);
}

TEST_F(launch, nobody_failed_when_all_but_the_launcher_were_told_to_stop) {
  rule.on_end(0, exited(143), at(0));
  rule.on_end(1, exited(143), at(1));
  rule.on_end(2, exited(143), at(2));
  EXPECT_FALSE(rule.first_failure());
}

TEST_F(launch, worker_that_was_told_alone_is_lost_to_the_run) {
  rule.on_end(2, exited(143), at(0));
  rule.on_end(1, good, at(1));
  rule.on_end(0, good, at(1));
  EXPECT_EQ(rule.first_failure(), 2u);
}

TEST_F(launch, failure_of_another_kind_is_named_though_the_run_was_stopped) {
  rule.on_end(2, exited(143), at(0));
  rule.on_stop_signal(SIGTERM, at(1));
  rule.on_end(0, exited(70), at(2));
  rule.on_end(1, exited(143), at(3));
  EXPECT_EQ(rule.first_failure(), 0u);
}

TEST_F(launch, director_that_does_not_stop_is_killed_with_the_others) {
  rule.on_stop_signal(SIGTERM, at(0));
  EXPECT_EQ(rule.on_time(at(29'999)), actions{});
  EXPECT_EQ(rule.on_time(at(30'000)), (actions{{0, SIGKILL}, {1, SIGKILL}, {2, SIGKILL}}));
}

TEST_F(launch, director_that_fails_while_it_stops_has_failed) {
  rule.on_stop_signal(SIGTERM, at(0));
  rule.on_end(1, exited(74), at(1));
  EXPECT_EQ(rule.first_failure(), 1u);
}

TEST_F(launch, node_that_refuses_while_the_run_stops_is_no_second_stop) {
  rule.on_stop_signal(SIGINT, at(0));
  EXPECT_EQ(rule.on_end(0, exited(77), at(1)), actions{});
  EXPECT_FALSE(rule.was_refused());
}

TEST_F(launch, signal_after_the_directors_end_waits_for_the_others_as_before) {
  rule.on_end(1, good, at(0));
  EXPECT_EQ(rule.on_stop_signal(SIGINT, at(1)), actions{});
  EXPECT_EQ(rule.deadline(), at(2'000));
  EXPECT_EQ(rule.on_stop_signal(SIGINT, at(1'001)), (actions{{0, SIGKILL}, {2, SIGKILL}}));
}

TEST_F(launch, second_news_of_an_end_is_ignored) {
  rule.on_end(0, good, at(0));
  rule.on_end(0, exited(76), at(0));
  EXPECT_FALSE(rule.first_failure());
  EXPECT_FALSE(rule.was_refused());
}

} // namespace
} // namespace troupe::launch_rule_test
