#include "coordinators/run/director_rule.hpp"

#include "coordinators/run/stop_signals.hpp"
#include "tests/coordinators/run/director_story.hpp"

#include <gtest/gtest.h>

namespace troupe::director_rule_test {
namespace {

using namespace test;
using phase = director_rule::phase;

TEST(director_rule, a_plain_run_publishes_each_epoch_and_ends_with_the_last) {
  story run{six_steps()};
  EXPECT_EQ(run.start(), "up to 6, final");
  EXPECT_EQ(run.trained(2, 7), "row 2 7/8");
  EXPECT_EQ(run.trained(4, 6), "row 4 6/8");
  EXPECT_EQ(run.rule.state(), phase::training);
  EXPECT_EQ(run.trained(6, 5), "row 6 5/8; finish at 6: epochs");
  EXPECT_EQ(run.rule.state(), phase::ending);
  EXPECT_FALSE(run.rule.diverged());
}

TEST(director_rule, the_reason_says_whether_steps_or_epochs_ended_training) {
  const std::pair<uint64_t, std::string> cases[] = {
    {5, "row 5 8/8; finish at 5: steps"},
    {6, "row 6 8/8; finish at 6: epochs"},
    {7, "row 6 8/8; finish at 6: epochs"},
  };
  for (const auto& [limit, expected] : cases) {
    auto plan = six_steps();
    plan.step_limit = limit;
    story run{plan};
    run.start();
    run.trained(2);
    run.trained(4);
    EXPECT_EQ(run.trained(plan.last_version()), expected);
  }
}

// Each is said again until a directive names it; one that was passed over never would be.
TEST(director_rule, a_row_waits_for_the_row_before_it) {
  story run{six_steps()};
  run.start();
  EXPECT_EQ(run.trained(4, 6), "") << "the row of version 2 was lost on its way";
  EXPECT_EQ(run.trained(6, 5), "");
  EXPECT_EQ(run.trained(2, 7), "row 2 7/8; row 4 6/8; row 6 5/8; finish at 6: epochs");
}

TEST(director_rule, a_row_waits_for_all_chunks_of_its_evaluation) {
  story run{six_steps(), no_rule, two_chunks};
  run.start();
  EXPECT_EQ(run.trained(2), "");
  EXPECT_EQ(run.evaluated(2, 0), "");
  EXPECT_EQ(run.evaluated(2, 1, 3), "row 2 8/8 test 4/300");
  EXPECT_EQ(run.evaluated(4, 1), "") << "the sooner, the later chunk first";
  EXPECT_EQ(run.evaluated(4, 0), "");
  EXPECT_EQ(run.trained(4), "row 4 8/8 test 2/300");
}

TEST(director_rule, chunks_can_come_together) {
  story run{six_steps(), no_rule, two_chunks};
  run.start();
  run.trained(2);
  EXPECT_EQ(text(run.rule.on_evaluated(2, 0, {sums(1, 256), sums(2, 44)})), "row 2 8/8 test 3/300");
}

TEST(director_rule, a_chunk_that_comes_twice_counts_once) {
  story run{six_steps(), no_rule, two_chunks};
  run.start();
  run.trained(2);
  EXPECT_EQ(run.evaluated(2, 0), "");
  EXPECT_EQ(run.evaluated(2, 0, 100), "");
  EXPECT_EQ(run.evaluated(2, 1), "row 2 8/8 test 2/300");
  EXPECT_EQ(run.evaluated(2, 1), "") << "after its row";
  run.trained(4);
  run.evaluated(4, 0);
  EXPECT_EQ(run.evaluated(4, 1), "row 4 8/8 test 2/300");
}

TEST(director_rule, chunks_are_added_along_the_tree_in_whatever_order_they_come) {
  // (1 + 1e16) + (-1e16 + 1) is 0 in doubles, one after the other gives 1.
  const double losses[] = {1, 1e16, -1e16, 1};
  const size_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 0, 3}};
  for (const auto& order : orders) {
    story run{six_steps(), no_rule, 1000};
    run.start();
    run.trained(2);
    std::string last;
    for (auto chunk : order)
      last = text(run.rule.on_evaluated(2, chunk, {sums(losses[chunk], 250)}));
    EXPECT_EQ(last, "row 2 8/8 test 0/1000");
  }
}

TEST(director_rule, rows_complete_in_order_of_version) {
  auto plan = evaluated_every_second_epoch();
  plan.epoch_count = 4;
  story run{plan, no_rule, two_chunks};
  run.start();
  EXPECT_EQ(run.trained(2), "row 2 8/8") << "not evaluated";
  EXPECT_EQ(run.trained(4), "");
  EXPECT_EQ(run.trained(6), "") << "complete, but version 4 is not";
  run.evaluated(8, 0);
  EXPECT_EQ(run.evaluated(8, 1), "");
  run.evaluated(4, 1);
  EXPECT_EQ(run.evaluated(4, 0), "row 4 8/8 test 2/300; row 6 8/8");
  EXPECT_EQ(run.trained(8), "row 8 8/8 test 2/300; finish at 8: epochs");
}

TEST(director_rule, a_report_that_comes_twice_counts_once) {
  story run{six_steps(), no_rule, two_chunks};
  run.start();
  run.trained(2, 5);
  run.trained(2, 6);
  run.evaluated(2, 0);
  EXPECT_EQ(run.evaluated(2, 1), "row 2 5/8 test 2/300");
  EXPECT_EQ(run.trained(2), "") << "after its row";
  run.evaluated(4, 0);
  run.evaluated(4, 1);
  EXPECT_EQ(run.trained(4), "row 4 8/8 test 2/300") << "nothing waits for version 2 again";
}

TEST(director_rule, a_target_lets_replicas_run_to_the_next_evaluation_only) {
  story run{six_steps(), target_half};
  EXPECT_EQ(run.start(), "up to 2");
  EXPECT_EQ(run.trained(2, 8), "row 2 8/8; up to 4");
  EXPECT_EQ(run.trained(4, 4.5), "row 4 4.5/8; up to 6, final");
  EXPECT_EQ(run.trained(6, 4.5), "row 6 4.5/8; finish at 6: epochs");
}

TEST(director_rule, training_ends_at_the_version_that_meets_the_target) {
  story run{six_steps(), target_half};
  run.start();
  run.trained(2, 8);
  EXPECT_EQ(run.trained(4, 4), "row 4 4/8; finish at 4: target-loss") << "a mean of 0.5";
  story late{six_steps(), target_half};
  late.start();
  late.trained(2, 8);
  late.trained(4, 8);
  EXPECT_EQ(late.trained(6, 4), "row 6 4/8; finish at 6: target-loss") << "not by its epochs";
}

TEST(director_rule, with_test_rows_the_test_loss_is_watched) {
  story run{six_steps(), target_half, two_chunks};
  run.start();
  run.trained(2, 0);
  run.evaluated(2, 0, 100);
  EXPECT_EQ(run.evaluated(2, 1, 100), "row 2 0/8 test 200/300; up to 4");
  run.trained(4, 8);
  run.evaluated(4, 0, 75);
  EXPECT_EQ(run.evaluated(4, 1, 75), "row 4 8/8 test 150/300; finish at 4: target-loss");
}

TEST(director_rule, epochs_that_are_not_evaluated_are_not_watched) {
  story run{evaluated_every_second_epoch(), target_half};
  EXPECT_EQ(run.start(), "up to 4");
  EXPECT_EQ(run.trained(2, 0), "row 2 0/8");
  EXPECT_EQ(run.trained(4, 8), "row 4 8/8; up to 6, final");
  auto plan = six_steps();
  plan.evaluate_every = 0;
  EXPECT_EQ((story{plan, target_half}.start()), "up to 6, final");
}

TEST(director_rule, patience_ends_training_when_nothing_improves) {
  story run{six_steps(), {.target_loss = {}, .patience = 1}};
  EXPECT_EQ(run.start(), "up to 2");
  EXPECT_EQ(run.trained(2, 8), "row 2 8/8; up to 4");
  EXPECT_EQ(run.trained(4, 8), "row 4 8/8; finish at 4: patience");
  EXPECT_EQ(run.rule.rule().best_version(), 2u);
}

TEST(director_rule, nothing_is_decided_after_the_end) {
  story run{six_steps(), target_half, two_chunks};
  run.start();
  run.trained(2);
  run.evaluated(2, 0, 0);
  run.evaluated(2, 1, 0);
  ASSERT_EQ(run.rule.state(), phase::ending);
  EXPECT_EQ(run.stop(), "");
  EXPECT_EQ(run.named(3), "");
  EXPECT_EQ(run.trained(4), "");
  EXPECT_EQ(run.evaluated(4, 0) + run.evaluated(4, 1), "");
  EXPECT_EQ(run.not_finite(3), "");
  EXPECT_FALSE(run.rule.diverged()) << "beyond the result, of no account";
}

TEST(director_rule, what_is_not_finite_ends_training_at_the_version_before) {
  story run{six_steps()};
  run.start();
  EXPECT_EQ(run.not_finite(3), "finish at 3: diverged");
  ASSERT_TRUE(run.rule.diverged());
  EXPECT_EQ(*run.rule.diverged(), (divergence{3, "gradient of slice 1", 1}));
  EXPECT_EQ(run.not_finite(4), "") << "the first one counts";
  EXPECT_EQ(run.rule.diverged()->step, 3u);
}

TEST(director_rule, what_is_not_finite_ends_a_hold_too) {
  story run{six_steps()};
  run.start();
  run.stop();
  EXPECT_EQ(run.not_finite(2), "finish at 2: diverged");
  EXPECT_EQ(run.named(3), "");
  story named{six_steps()};
  named.start();
  named.stop();
  named.named(3);
  EXPECT_EQ(named.not_finite(2), "finish at 2: diverged") << "on the way to the named version";
}

TEST(director_rule, rows_that_wait_when_training_diverges_stay_unpublished) {
  story run{six_steps(), no_rule, two_chunks};
  run.start();
  run.trained(2);
  run.evaluated(2, 0);
  run.not_finite(3);
  EXPECT_EQ(run.evaluated(2, 1), "");
}

TEST(director_rule, a_row_waits_for_the_hash_of_its_version) {
  director_rule_options options;
  options.plan = {
    .row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 2, .step_limit = {}};
  options.hashed_blocks = 3;
  director_rule rule{options};
  rule.start();
  const batch_sums sums{8, 8, 0, 0};
  EXPECT_EQ(rule.on_trained(2, sums), director_decisions{});
  EXPECT_EQ(rule.on_hashed(4), director_decisions{}) << "that of a later row";
  const director_decision first = publish_row{{2, sums, std::nullopt, std::nullopt}};
  EXPECT_EQ(rule.on_hashed(2), director_decisions{first});
  EXPECT_EQ(rule.on_hashed(2), director_decisions{}) << "said again";
  const auto end = rule.on_trained(4, sums);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(end[1], director_decision(finish_at{4, stop_reason::epochs}));
}

// A request to stop can come at any moment of a run: these are the moments.

using decisions = director_decisions;

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

TEST(director_stop, no_row_is_waited_for_of_a_version_that_was_named_and_passed) {
  auto rule = begun({.test_row_count = two_chunks});
  rule.on_trained(2, train);
  evaluate(rule, 2);
  stop_at(rule, 3);
  EXPECT_EQ(rule.on_trained(3, train), decisions{}) << "its evaluation will not come";
  EXPECT_EQ(rule.on_stop_named(5), decisions{up_to(5)});
  EXPECT_EQ(rule.on_trained(4, train), decisions{});
  EXPECT_NE(evaluate(rule, 4), decisions{});
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

// Copies in memory brought it there: no checkpoint has it.
TEST(director_stop, before_a_start_that_no_checkpoint_has_one_is_taken) {
  for (const bool is_saved : {true, false}) {
    director_memory memory;
    memory.version = 3;
    memory.is_saved = is_saved;
    director_rule_options options;
    options.plan = timeline{.row_count = 8, .step_limit = {}};
    options.checkpoint_every = 2;
    director_rule rule{options, memory};
    rule.on_stop_requested();
    auto expected = decisions{up_to(3), interrupted_at(3)};
    if (!is_saved)
      expected.insert(expected.begin() + 1, take_checkpoint{3});
    EXPECT_EQ(rule.start(), expected);
  }
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

} // namespace
} // namespace troupe::director_rule_test
