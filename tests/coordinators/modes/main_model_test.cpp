// Which versions a parameter server holds, and when they are evaluated and reported.

#include "coordinators/modes/main_model.hpp"

#include <gtest/gtest.h>

namespace troupe::main_model_test {

namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

/// Three epochs of two steps, a row after each, begun at version 0.
main_model begun_model(const evaluation_rows& rows = {4, 0}) {
  main_model x{{{.row_count = 8, .batch_size = 4, .epoch_count = 3, .step_limit = {}}, rows}};
  x.begin(0, buffer{1}, at(0));
  x.set_horizon({6, true});
  return x;
}

void adopt(main_model& x, uint64_t version) {
  x.adopt(version, buffer{1}, {1, 4, 2, 0});
}

} // namespace

TEST(main_model, holds_the_newest_version_and_the_one_before) {
  auto x = begun_model();
  const auto first = x.parameters();
  adopt(x, 2);
  EXPECT_TRUE(x.parameters_of(0).same_storage(first));
  EXPECT_TRUE(x.parameters_of(2).same_storage(x.parameters()));
  EXPECT_FALSE(x.parameters_of(1)) << "it never was";
  adopt(x, 3);
  EXPECT_FALSE(x.parameters_of(0));
  EXPECT_TRUE(x.parameters_of(2));
}

TEST(main_model, before_it_begins_there_is_nothing) {
  main_model x{{}};
  x.set_horizon({6, true});
  EXPECT_FALSE(x.has_begun());
  EXPECT_FALSE(x.parameters_of(0));
  EXPECT_EQ(x.step_limit(), 0u);
  EXPECT_FALSE(x.is_at_horizon());
}

TEST(main_model, steps_below_the_horizon_may_begin_unless_it_is_held_or_has_failed) {
  auto x = begun_model();
  EXPECT_EQ(x.step_limit(), 6u);
  x.hold();
  EXPECT_EQ(x.step_limit(), 0u);
  x.set_horizon({4, false});
  EXPECT_EQ(x.step_limit(), 4u);
  adopt(x, 4);
  EXPECT_TRUE(x.is_at_horizon());
  x.fail();
  EXPECT_EQ(x.step_limit(), 0u);
  EXPECT_FALSE(x.is_at_horizon());
}

TEST(main_model, figures_are_those_of_the_epoch) {
  auto x = begun_model();
  adopt(x, 1);
  adopt(x, 2);
  EXPECT_EQ(x.epoch_sums().sample_count, 8u);
  adopt(x, 3);
  EXPECT_EQ(x.epoch_sums().sample_count, 4u) << "the next epoch's";
}

TEST(main_model, a_version_is_evaluated_once_where_the_rows_say_or_training_ends) {
  auto x = begun_model();
  EXPECT_FALSE(x.take_evaluation());
  adopt(x, 2);
  EXPECT_TRUE(x.take_evaluation());
  EXPECT_FALSE(x.take_evaluation());
  adopt(x, 3);
  EXPECT_FALSE(x.take_evaluation());
  x.set_horizon({3, false});
  EXPECT_FALSE(x.take_evaluation());
  x.set_horizon({3, true});
  EXPECT_TRUE(x.take_evaluation());
  auto without_rows = begun_model({0, 0});
  adopt(without_rows, 2);
  EXPECT_FALSE(without_rows.take_evaluation());
}

TEST(main_model, rows_and_the_horizon_are_reported_once_and_progress_now_and_then) {
  auto x = begun_model();
  x.set_horizon({3, false});
  adopt(x, 1);
  EXPECT_FALSE(x.take_report(at(99)));
  const auto progress = x.take_report(at(100));
  ASSERT_TRUE(progress);
  EXPECT_FALSE(progress->is_row || progress->is_mark);
  x.on_reported(at(100));
  adopt(x, 2);
  const auto row = x.take_report(at(110));
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->is_row && !row->is_mark);
  EXPECT_FALSE(x.take_report(at(120)));
  adopt(x, 3);
  const auto mark = x.take_report(at(130));
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->is_mark && !mark->is_row);
  EXPECT_FALSE(x.take_report(at(140)));
  x.set_horizon({3, true});
  const auto end = x.take_report(at(150));
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_row && end->is_mark) << "where training ends there is a row";
  EXPECT_EQ(x.seconds(at(1500)), 1.5);
}

} // namespace troupe::main_model_test
