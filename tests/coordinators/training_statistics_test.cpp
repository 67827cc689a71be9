#include "troupe/coordinators/training_statistics.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe {

namespace {

using std::chrono::microseconds;

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
  x.on_lost(1);
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
  EXPECT_EQ(lag_class_name(0), "0");
  EXPECT_EQ(lag_class_name(1), "1");
  EXPECT_EQ(lag_class_name(2), "2-3");
  EXPECT_EQ(lag_class_name(6), "32-63");
  EXPECT_EQ(lag_class_name(7), "64+");
  training_statistics x{2};
  x.on_applied(1, 3);
  x.on_discarded(1, 70);
  EXPECT_EQ(x.of(1).applied_count, 1u);
  EXPECT_EQ(x.of(1).discarded_count, 1u);
  EXPECT_EQ(x.of(1).lags, (std::array<uint64_t, lag_class_count>{0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(x.of(0), trainer_statistics{});
}

TEST(training_statistics, are_a_table_for_people) {
  training_statistics x{2};
  x.on_sent(0, at(0));
  x.on_result(0, at(12), milliseconds{10});
  x.on_result(1, at(0) + microseconds{1234567}, {});
  x.on_barrier(at(1300));
  x.on_applied(0, 0);
  x.on_applied(1, 5);
  x.on_discarded(1, 9);
  x.on_refused(1);
  x.on_lost(1);
  EXPECT_EQ(x.table(),
            "trainer  results  last   by ms  most ms  waited ms  computed ms  network ms  applied  "
            "discarded  refused  lost  lag 0  lag 1  lag 2-3  lag 4-7  lag 8-15  lag 16-31  lag "
            "32-63  lag 64+\n"
            "      0        1     0     0.0      0.0     1288.0         10.0         2.0        1  "
            "        0        0     0      1      0        0        0         0          0         "
            " 0        0\n"
            "      1        1     1  1222.6   1222.6       65.4          0.0         0.0        1  "
            "        1        1     1      0      0        0        1         1          0         "
            " 0        0\n");
}

TEST(training_statistics, a_lost_trainer_is_at_no_barrier) {
  training_statistics x{2};
  x.on_sent(1, at(0));
  x.on_result(0, at(10), {});
  x.on_result(1, at(20), {});
  x.on_lost(1);
  x.on_barrier(at(30));
  EXPECT_EQ(x.of(1).last_count, 0u);
  EXPECT_EQ(x.of(1).waited, milliseconds{0});
  EXPECT_EQ(x.of(1).lost_count, 1u);
  x.on_sent(1, at(30));
  x.on_lost(1);
  x.on_joined(1);
  x.on_result(1, at(90), {});
  EXPECT_EQ(x.of(1).network, milliseconds{20}) << "what was sent to the lost one is on no way";
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

} // namespace troupe
