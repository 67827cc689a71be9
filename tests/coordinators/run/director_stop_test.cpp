// A request to stop can come at any moment of a run: these are the moments.

#include "coordinators/run/director_rule.hpp"
#include "coordinators/run/stop_signals.hpp"

#include <gtest/gtest.h>

namespace troupe::director_stop_test {

namespace {

using phase = director_rule::phase;
using decisions = director_decisions;

constexpr size_t two_chunks = 300;
const batch_sums train{8, 8, 0, 0};
const batch_sums half_test{1, 150, 0, 0};
const batch_sums test_total{2, 300, 0, 0};

struct run_options {
  stop_rule_options stop{};
  size_t test_row_count = 0;
  size_t evaluate_every = 1;
};

/// A run of 3 epochs of 2 steps, begun.
director_rule begun(const run_options& x = {}) {
  timeline plan{
    .row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
  plan.evaluate_every = x.evaluate_every;
  director_rule rule{{plan, x.stop, {.test = x.test_row_count}}};
  rule.start();
  return rule;
}

director_decision up_to(uint64_t version, bool final = true) {
  return allow_up_to{{version, final}};
}

director_decision row(uint64_t version, std::optional<batch_sums> test = std::nullopt) {
  return publish_row{{version, train, test}};
}

director_decision interrupted_at(uint64_t version) {
  return finish_at{version, stop_reason::interrupt};
}

/// Asks to stop, and this version is named.
decisions stop_at(director_rule& rule, uint64_t version) {
  EXPECT_EQ(rule.on_stop_requested(), decisions{hold_replicas{}});
  EXPECT_EQ(rule.state(), phase::holding);
  return rule.on_stop_named(version);
}

decisions evaluate(director_rule& rule, uint64_t version) {
  EXPECT_EQ(rule.on_evaluated(version, 0, {half_test}), decisions{});
  return rule.on_evaluated(version, 1, {half_test});
}

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

TEST(director_stop, the_named_version_is_the_last) {
  auto rule = begun();
  EXPECT_EQ(stop_at(rule, 3), decisions{up_to(3)});
  EXPECT_EQ(rule.state(), phase::training);
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
  EXPECT_EQ(rule.on_trained(3, train), (decisions{row(3), interrupted_at(3)}));
  EXPECT_EQ(rule.state(), phase::ending);
}

TEST(director_stop, a_version_that_is_named_again_replaces_the_one_before) {
  auto rule = begun();
  stop_at(rule, 2);
  EXPECT_EQ(rule.on_stop_named(3), decisions{up_to(3)}) << "the view changed";
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
  EXPECT_EQ(rule.on_trained(3, train), (decisions{row(3), interrupted_at(3)}));
  EXPECT_EQ(rule.on_stop_named(4), decisions{}) << "after the end";
}

TEST(director_stop, the_last_version_is_evaluated_though_the_timeline_does_not_ask) {
  auto rule = begun({.test_row_count = two_chunks});
  stop_at(rule, 1);
  EXPECT_EQ(rule.on_trained(1, train), decisions{});
  EXPECT_EQ(evaluate(rule, 1), (decisions{row(1, test_total), interrupted_at(1)}));
}

TEST(director_stop, its_evaluation_can_come_before_its_report) {
  auto rule = begun({.test_row_count = two_chunks});
  stop_at(rule, 1);
  EXPECT_EQ(evaluate(rule, 1), decisions{});
  EXPECT_EQ(rule.on_trained(1, train), (decisions{row(1, test_total), interrupted_at(1)}));
}

TEST(director_stop, at_version_0_there_is_no_row_to_wait_for) {
  auto rule = begun({.test_row_count = two_chunks});
  EXPECT_EQ(stop_at(rule, 0), (decisions{up_to(0), interrupted_at(0)}));
  EXPECT_EQ(evaluate(rule, 0), decisions{});
}

TEST(director_stop, before_the_start_training_ends_as_it_begins) {
  director_rule rule{{timeline{.row_count = 8, .step_limit = {}}, {}, {.test = two_chunks}}};
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "replicas are not there to answer";
  EXPECT_EQ(rule.on_stop_requested(), decisions{});
  EXPECT_EQ(rule.start(), (decisions{up_to(0), interrupted_at(0)}));
  EXPECT_EQ(rule.state(), phase::ending);
}

TEST(director_stop, reports_that_come_during_the_hold_wait_for_its_end) {
  auto rule = begun();
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_trained(2, train), decisions{});
  EXPECT_EQ(rule.on_stop_named(3), (decisions{up_to(3), row(2)}));
  auto at_end = begun();
  at_end.on_stop_requested();
  at_end.on_trained(2, train);
  EXPECT_EQ(at_end.on_stop_named(2), (decisions{up_to(2), row(2), interrupted_at(2)}));
}

TEST(director_stop, a_version_whose_row_is_out_ends_at_once) {
  auto rule = begun();
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
  EXPECT_EQ(stop_at(rule, 2), (decisions{up_to(2), interrupted_at(2)}));
}

TEST(director_stop, a_row_with_its_evaluation_is_not_published_again) {
  auto rule = begun({.test_row_count = two_chunks});
  rule.on_trained(2, train);
  EXPECT_EQ(evaluate(rule, 2), decisions{row(2, test_total)});
  EXPECT_EQ(stop_at(rule, 2), (decisions{up_to(2), interrupted_at(2)}));
}

TEST(director_stop, a_row_without_evaluation_is_published_again_with_it) {
  auto rule = begun({.test_row_count = two_chunks, .evaluate_every = 2});
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
  EXPECT_EQ(stop_at(rule, 2), decisions{up_to(2)});
  EXPECT_EQ(evaluate(rule, 2), (decisions{row(2, test_total), interrupted_at(2)}));
}

TEST(director_stop, an_older_row_is_not_taken_for_that_of_the_last_version) {
  auto rule = begun({.test_row_count = two_chunks, .evaluate_every = 2});
  rule.on_trained(2, train);
  stop_at(rule, 3);
  EXPECT_EQ(evaluate(rule, 3), decisions{});
  EXPECT_EQ(rule.on_trained(3, train), (decisions{row(3, test_total), interrupted_at(3)}));
}

TEST(director_stop, at_the_end_of_the_timeline_it_changes_nothing) {
  auto rule = begun();
  rule.on_trained(2, train);
  rule.on_trained(4, train);
  EXPECT_EQ(stop_at(rule, 6), decisions{up_to(6)});
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), finish_at{6, stop_reason::epochs}}));
}

TEST(director_stop, asked_again_at_the_end_of_the_timeline_nobody_holds_twice) {
  auto rule = begun();
  rule.on_trained(2, train);
  rule.on_trained(4, train);
  stop_at(rule, 6);
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "no second version would be named";
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), finish_at{6, stop_reason::epochs}}));
}

TEST(director_stop, at_a_horizon_that_would_have_moved_on_it_is_the_reason) {
  auto rule = begun({.stop = {.target_loss = 0.5, .patience = {}}});
  EXPECT_EQ(stop_at(rule, 2), decisions{up_to(2)});
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), interrupted_at(2)}));
}

TEST(director_stop, a_rule_that_stops_at_the_same_version_is_the_reason) {
  auto rule = begun({.stop = {.target_loss = 1, .patience = {}}});
  rule.on_stop_requested();
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_stop_named(2),
            (decisions{up_to(2), row(2), finish_at{2, stop_reason::target_loss}}));
}

TEST(director_stop, a_version_that_is_evaluated_only_because_it_is_the_last_is_not_judged) {
  auto rule = begun({.stop = {.target_loss = 1, .patience = {}}});
  stop_at(rule, 1);
  EXPECT_EQ(rule.on_trained(1, train), (decisions{row(1), interrupted_at(1)}));
}

TEST(director_stop, asked_twice_is_as_good_as_once) {
  auto rule = begun();
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "while on hold";
  rule.on_stop_named(3);
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "on the way to the named version";
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_trained(3, train), (decisions{row(3), interrupted_at(3)}));
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "after the end";
}

} // namespace troupe::director_stop_test
