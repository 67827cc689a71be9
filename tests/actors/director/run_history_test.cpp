// How far a run has got: rows that are merged, cut and recalled, and the time of each.

#include "actors/director/run_history.hpp"

#include <gtest/gtest.h>

namespace troupe::run_history_test {

namespace {

using namespace std::chrono_literals;

/// 10 steps an epoch, every second one is evaluated on 4 test rows.
director_options options() {
  director_options result;
  result.rule.plan = {
    .row_count = 80, .batch_size = 8, .slice_count = 4, .epoch_count = 100, .step_limit = {}};
  result.rule.plan.evaluate_every = 2;
  result.rule.rows = {4, 0};
  return result;
}

batch_sums sums(double loss, uint64_t correct) {
  batch_sums result;
  result.loss_sum = 8 * loss;
  result.sample_count = 8;
  result.correct_count = correct;
  return result;
}

epoch_figures row(uint64_t version, double loss) {
  return {version, sums(loss, 4), std::nullopt, std::nullopt};
}

training_report report(uint64_t version, double seconds, bool is_row = true) {
  training_report result;
  result.version = version;
  result.seconds = seconds;
  result.is_row = is_row;
  return result;
}

} // namespace

TEST(run_history, a_row_has_the_time_its_shard_told_and_its_progress_begins_at_the_row_before) {
  run_history history{options()};
  EXPECT_TRUE(history.on_report(report(10, 2), moment{}));
  history.add_row(row(10, 0.5), 9);
  EXPECT_FALSE(history.on_report(report(5, 1), moment{}));
  EXPECT_EQ(history.version(), 10u);
  EXPECT_EQ(history.rows().back().seconds, 2);
  EXPECT_EQ(history.rows().back().epoch, 1u);
  EXPECT_EQ(history.rows().back().train_accuracy, 0.5);
  history.on_report(report(15, 3, false), moment{});
  const auto progress = history.progress_at(15, sums(0.25, 6), 9);
  EXPECT_EQ(progress.seconds, 3);
  EXPECT_EQ(progress.seconds_of_epoch, 1);
  EXPECT_EQ(progress.step, 5u);
  EXPECT_EQ(progress.train_loss, 0.25);
  EXPECT_EQ(history.seconds_at(99, 9), 9) << "of a version nobody told of: now";
}

TEST(run_history, a_second_row_of_a_version_adds_its_evaluation_to_the_first) {
  run_history history{options()};
  history.add_row(row(10, 0.5), 1);
  epoch_figures again{10, {}, sums(0.75, 2), std::nullopt};
  const auto progress = history.add_row(again, 1);
  ASSERT_EQ(history.rows().size(), 1u);
  EXPECT_EQ(history.rows()[0].train_loss, 0.5);
  EXPECT_EQ(history.rows()[0].train_accuracy, 0.5);
  EXPECT_EQ(history.rows()[0].test_loss, 0.75);
  EXPECT_EQ(progress.finished_epoch, history.rows()[0]);
}

TEST(run_history, rows_beyond_the_end_are_cut) {
  run_history history{options()};
  history.add_row(row(10, 0.5), 1);
  history.add_row(row(20, 0.25), 2);
  history.cut_after(15);
  ASSERT_EQ(history.rows().size(), 1u);
  EXPECT_EQ(history.rows()[0].steps, 10u);
}

TEST(run_history,
     goes_on_from_a_checkpoint_with_its_rows_and_time_but_not_the_one_of_an_interrupt) {
  run_history history{options()};
  checkpoint x;
  x.version = 13;
  x.seconds = 100;
  x.history.resize(2);
  x.history[0].steps = 10;
  x.history[0].test_loss = 0.5;
  x.history[1].steps = 13;
  history.add_row(row(10, 0.125), 1);
  history.begin(13);
  EXPECT_TRUE(history.rows().empty());
  history.recall(x);
  ASSERT_EQ(history.rows().size(), 1u) << "an undisturbed run has no row at 13";
  EXPECT_EQ(history.version(), 13u);
  history.on_report(report(20, 2), moment{});
  EXPECT_EQ(history.seconds_at(20, 9), 102);
  x.history.pop_back();
  history.keep_rows_of_undisturbed_run(x);
  EXPECT_FALSE(x.history[0].test_loss) << "the first epoch is not evaluated";
}

TEST(run_history, is_copied_and_compared) {
  run_history history{options()};
  const auto before = history;
  EXPECT_EQ(history, before);
  history.on_report(report(1, 1, false), moment{});
  EXPECT_NE(history, before);
}

} // namespace troupe::run_history_test
