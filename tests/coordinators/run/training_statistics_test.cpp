#include "coordinators/run/training_statistics.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::training_statistics_test {

namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

} // namespace

TEST(training_statistics, say_who_was_last_and_by_how_much) {
  training_statistics x{3};
  for (int round = 0; round < 2; ++round) {
    const auto start = 1000 * round;
    x.on_result(1, at(start + 10), {});
    x.on_result(0, at(start + 30), {});
    x.on_result(2, at(start + 100 + 50 * round), {});
    x.on_barrier(at(start + 200));
  }
  EXPECT_EQ(x.barrier_count(), 2u);
  EXPECT_EQ(x.of(2).last_count, 2u);
  EXPECT_EQ(x.of(2).last_by, milliseconds{70 + 120}) << "after trainer 0, at 30";
  EXPECT_EQ(x.of(2).last_by_max, milliseconds{120});
  EXPECT_EQ(x.of(0).last_count, 0u);
  EXPECT_EQ(x.of(1).waited, milliseconds{2 * 190});
  EXPECT_EQ(x.of(2).waited, milliseconds{100 + 50});
  EXPECT_EQ(x.of(1).result_count, 2u);
}

TEST(training_statistics, who_may_not_go_on_waits_until_work_leaves_for_it) {
  training_statistics x{2};
  x.on_waits(0, at(10));
  x.on_waits(0, at(25)); // said again
  EXPECT_EQ(x.of(0).waited, milliseconds{0});
  x.on_sent(0, at(40));
  EXPECT_EQ(x.of(0).waited, milliseconds{30});
  x.on_sent(0, at(90));
  EXPECT_EQ(x.of(0).waited, milliseconds{30}) << "nobody told it to wait";
  x.on_waits(1, at(10));
  x.on_lost(1, at(50));
  x.on_sent(1, at(1000));
  EXPECT_EQ(x.of(1).waited, milliseconds{0}) << "another trainer sits there now";
}

TEST(training_statistics, a_trainer_alone_is_last_of_nobody) {
  training_statistics x{2};
  x.on_result(0, at(10), {});
  x.on_barrier(at(20));
  EXPECT_EQ(x.of(0).last_count, 0u);
  EXPECT_EQ(x.of(0).waited, milliseconds{10});
  x.on_barrier(at(30));
  EXPECT_EQ(x.of(0).waited, milliseconds{10}) << "it was at the barrier before, not at this one";
}

TEST(training_statistics, a_result_that_comes_again_counts_by_its_latest) {
  training_statistics x{2};
  x.on_result(0, at(0), {});
  x.on_result(1, at(5), {});
  x.on_result(0, at(9), {});
  x.on_barrier(at(9));
  EXPECT_EQ(x.of(0).last_by, milliseconds{4});
  EXPECT_EQ(x.of(0).waited, milliseconds{0});
}

TEST(training_statistics, what_is_not_computing_is_the_network) {
  training_statistics x{1};
  x.on_sent(0, at(100));
  x.on_result(0, at(130), milliseconds{22});
  EXPECT_EQ(x.of(0).computed, milliseconds{22});
  EXPECT_EQ(x.of(0).network, milliseconds{8});
  x.on_sent(0, at(200));
  x.on_result(0, at(210), milliseconds{15});
  EXPECT_EQ(x.of(0).network, milliseconds{8}) << "its clock runs fast: never below zero";
  x.on_result(0, at(300), milliseconds{1});
  EXPECT_EQ(x.of(0).network, milliseconds{8}) << "sent by nobody: unknown";
  EXPECT_EQ(x.of(0).computed, milliseconds{38});
}

TEST(training_statistics, lags_are_counted_in_classes_that_double) {
  const uint64_t first[] = {0, 1, 2, 4, 8, 16, 32, 64};
  for (size_t i = 0; i < lag_class_count; ++i) {
    EXPECT_EQ(lag_class(first[i]), i);
    EXPECT_EQ(lag_class(first[i] - (i > 0 ? 1 : 0)), i - (i > 0 ? 1 : 0));
  }
  EXPECT_EQ(lag_class(~uint64_t{0}), lag_class_count - 1);
  training_statistics x{2};
  x.on_applied(1, 3);
  x.on_discarded(1, 70);
  EXPECT_EQ(x.of(1).applied_count, 1u);
  EXPECT_EQ(x.of(1).discarded_count, 1u);
  EXPECT_EQ(x.of(1).lags, (std::array<uint64_t, lag_class_count>{0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(x.of(0), trainer_statistics{});
}

TEST(training_statistics, a_lost_trainer_is_at_no_barrier) {
  training_statistics x{2};
  x.on_sent(1, at(0));
  x.on_result(0, at(10), {});
  x.on_result(1, at(20), {});
  x.on_lost(1, at(25));
  x.on_barrier(at(30));
  EXPECT_EQ(x.of(1).last_count, 0u);
  EXPECT_EQ(x.of(1).waited, milliseconds{0});
  EXPECT_EQ(x.of(1).lost_count, 1u);
  x.on_sent(1, at(30));
  x.on_lost(1, at(40));
  x.on_joined(1);
  x.on_result(1, at(90), {});
  EXPECT_EQ(x.of(1).network, milliseconds{20}) << "what was sent to the lost one is on no way";
}

TEST(training_statistics, a_lost_trainers_stall_is_its_own) {
  training_statistics x{3};
  for (size_t i = 0; i < 3; ++i)
    x.on_sent(i, at(0));
  x.on_result(0, at(10), {});
  x.on_result(1, at(20), {});
  x.on_lost(2, at(1020)); // nobody had anything to do from 20 on
  x.on_sent(0, at(1020)); // does it again
  x.on_result(0, at(1035), {});
  x.on_barrier(at(1035));
  EXPECT_EQ(x.of(2).last_by, milliseconds{1000});
  EXPECT_EQ(x.of(2).last_by_max, milliseconds{1000});
  EXPECT_EQ(x.of(2).last_count, 0u) << "others were the last to come";
  EXPECT_EQ(x.of(0).last_count, 1u);
  EXPECT_EQ(x.of(0).last_by, milliseconds{15}) << "since it had that work";
  x.on_result(1, at(2000), {});
  x.on_result(0, at(2007), {});
  x.on_barrier(at(2007));
  EXPECT_EQ(x.of(0).last_by, milliseconds{15 + 7}) << "the stall is over";
}

TEST(training_statistics, nobody_waits_for_a_lost_trainer_while_others_work) {
  training_statistics x{3};
  for (size_t i = 0; i < 3; ++i)
    x.on_sent(i, at(0));
  x.on_result(0, at(10), {});
  x.on_lost(2, at(500)); // trainer 1 computes
  EXPECT_EQ(x.of(2).last_by, milliseconds{0});
  x.on_result(1, at(600), {});
  x.on_lost(1, at(900));
  EXPECT_EQ(x.of(1).last_by, milliseconds{0}) << "it had handed in its work";
  training_statistics first{2};
  first.on_sent(0, at(0));
  first.on_lost(0, at(100));
  EXPECT_EQ(first.of(0).last_by, milliseconds{0}) << "nobody has come yet: nobody waits";
}

TEST(training_statistics, a_new_trainer_has_figures_of_its_own) {
  training_statistics x{1};
  x.on_joined(1);
  x.on_joined(0);
  EXPECT_EQ(x.trainer_count(), 2u);
  x.on_applied(1, 0);
  EXPECT_EQ(x.of(0), trainer_statistics{});
  EXPECT_THROW(x.on_joined(3), std::out_of_range);
}

TEST(training_statistics, know_their_trainers) {
  training_statistics x{1};
  EXPECT_THROW(x.on_sent(1, at(0)), std::out_of_range);
  EXPECT_THROW(x.on_result(1, at(0), {}), std::out_of_range);
  EXPECT_THROW(x.on_applied(1, 0), std::out_of_range);
  EXPECT_THROW(x.on_discarded(1, 0), std::out_of_range);
  EXPECT_THROW(x.of(1), std::out_of_range);
}

} // namespace troupe::training_statistics_test
