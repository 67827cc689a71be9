#include "coordinators/run/replica_statistics.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::training_statistics_test {
namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

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

replica_statistics::place place(const std::string& process, bool computes = true) {
  static size_t number = 0; // nobody shares a model
  return {{process, 0}, computes, number++};
}

/// Steps of two places: the first comes after 10 ms, the second after `second`.
void run_step(replica_statistics& x, int64_t begin, int64_t second) {
  x.on_step_begins(at(begin));
  x.on_part(0, at(begin + 10), milliseconds{4});
  x.on_part(1, at(begin + second), milliseconds{5});
  x.on_step_complete(at(begin + second + 1));
}

const trainer_statistics& of(const std::vector<named_statistics>& figures,
                             const std::string& process) {
  for (const auto& one : figures)
    if (one.who.process == process)
      return one.figures;
  throw std::out_of_range(process);
}

const replica_name front{"a", 0};
const replica_name middle{"a", 1};
const replica_name back{"b", 0};

const trainer_statistics& of(const std::vector<named_statistics>& figures,
                             const replica_name& who) {
  for (const auto& one : figures)
    if (one.who == who)
      return one.figures;
  throw std::out_of_range(who.process);
}

TEST(replica_statistics, say_by_name_who_came_last) {
  replica_statistics x;
  x.on_places({place("left"), place("right")}, at(0));
  run_step(x, 0, 30);
  run_step(x, 100, 50);
  const auto figures = x.figures();
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(x.barrier_count(), 2u);
  const auto& right = of(figures, "right");
  EXPECT_EQ(right.result_count, 2u);
  EXPECT_EQ(right.last_count, 2u);
  EXPECT_EQ(right.last_by, milliseconds{20 + 40});
  EXPECT_EQ(right.last_by_max, milliseconds{40});
  EXPECT_EQ(right.computed, milliseconds{10});
  EXPECT_EQ(right.network, milliseconds{30 - 5 + 50 - 5});
  EXPECT_EQ(of(figures, "left").waited, milliseconds{21 + 41});
  EXPECT_EQ(of(figures, "left").last_count, 0u);
}

TEST(replica_statistics, a_result_is_there_with_its_last_part) {
  replica_statistics x;
  x.on_places({place("left"), place("right")}, at(0));
  x.on_step_begins(at(0));
  x.on_part(0, at(5), milliseconds{3});
  x.on_part(1, at(10), milliseconds{9});
  x.on_part(0, at(40), milliseconds{8});
  x.on_part(7, at(41), milliseconds{8}); // of a view that is over
  x.on_step_complete(at(41));
  const auto figures = x.figures();
  EXPECT_EQ(of(figures, "left").result_count, 1u);
  EXPECT_EQ(of(figures, "left").last_by, milliseconds{30});
  EXPECT_EQ(of(figures, "left").computed, milliseconds{8}) << "in this step, not in each part";
}

TEST(replica_statistics, those_who_share_a_model_are_not_last_after_each_other) {
  replica_statistics x;
  x.on_places({{{"first", 0}, true, 0}, {{"second", 0}, true, 0}, {{"other", 0}, true, 4}}, at(0));
  x.on_step_begins(at(0));
  x.on_part(1, at(5), milliseconds{3});
  x.on_part(2, at(6), milliseconds{3});
  x.on_part(0, at(40), milliseconds{8}); // the last of its group
  x.on_step_complete(at(41));
  x.on_step_begins(at(41));
  x.on_part(1, at(45), milliseconds{3});
  x.on_part(0, at(60), milliseconds{3});
  x.on_step_complete(at(60));
  const auto figures = x.figures();
  EXPECT_EQ(of(figures, "first").last_count, 1u) << "in the second step one group was there alone";
  EXPECT_EQ(of(figures, "first").last_by, milliseconds{34});
  EXPECT_EQ(of(figures, "second").last_count, 0u);
}

TEST(replica_statistics, figures_stay_with_names_when_places_move) {
  replica_statistics x;
  x.on_places({place("left"), place("right")}, at(0));
  run_step(x, 0, 30);
  x.on_places({place("new"), place("right"), place("left")}, at(50));
  run_step(x, 100, 30);
  const auto figures = x.figures();
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(of(figures, "right").last_count, 2u);
  EXPECT_EQ(of(figures, "left").result_count, 1u);
  EXPECT_EQ(of(figures, "left").lost_count, 0u);
  EXPECT_EQ(of(figures, "new").result_count, 1u);
}

TEST(replica_statistics, who_is_not_named_any_more_is_lost_and_its_stall_is_its_own) {
  replica_statistics x;
  x.on_places({place("left"), place("right")}, at(0));
  x.on_step_begins(at(0));
  x.on_part(0, at(10), milliseconds{4});
  x.on_places({place("left")}, at(510));
  x.on_part(0, at(520), milliseconds{9});
  x.on_step_complete(at(520));
  auto figures = x.figures();
  EXPECT_EQ(of(figures, "right").lost_count, 1u);
  EXPECT_EQ(of(figures, "right").last_by, milliseconds{500});
  EXPECT_EQ(of(figures, "left").last_by, milliseconds{0});
  x.on_places({place("left"), place("right")}, at(600));
  run_step(x, 600, 15);
  figures = x.figures();
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(of(figures, "right").result_count, 1u) << "it is there again, and goes on";
  EXPECT_EQ(of(figures, "right").lost_count, 1u);
}

TEST(replica_statistics, a_spare_keeps_nobody_busy) {
  replica_statistics x;
  x.on_places({place("left"), place("right"), place("spare", false)}, at(0));
  x.on_step_begins(at(0));
  x.on_part(0, at(10), milliseconds{4});
  x.on_places({place("left"), place("spare")}, at(60));
  const auto figures = x.figures();
  EXPECT_EQ(of(figures, "right").last_by, milliseconds{50}) << "the spare had nothing to do";
  EXPECT_EQ(of(figures, "spare"), trainer_statistics{});
}

TEST(boundary_waits, blame_whom_others_stood_idle_for) {
  boundary_waits of_back;
  of_back.computed = milliseconds{10};
  of_back.add(middle, milliseconds{30});
  of_back.add(middle, milliseconds{50});
  boundary_waits of_middle;
  of_middle.add(front, milliseconds{80});
  std::vector<named_statistics> figures{{back, {}}}; // the shard of the metrics heard of it alone
  figures.front().figures.network = milliseconds{99};
  figures.front().figures.computed = milliseconds{1};
  count_waits(figures,
              {{front, 7, {milliseconds{90}, {}}}, {middle, 7, of_middle}, {back, 6, of_back}});
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(of(figures, front).last_by, milliseconds{80});
  EXPECT_EQ(of(figures, front).last_count, 1u);
  EXPECT_EQ(of(figures, front).waited, milliseconds{0});
  EXPECT_EQ(of(figures, front).computed, milliseconds{90});
  EXPECT_EQ(of(figures, front).result_count, 7u);
  EXPECT_EQ(of(figures, middle).last_by, milliseconds{80}) << "all of it handed on";
  EXPECT_EQ(of(figures, middle).last_by_max, milliseconds{50});
  EXPECT_EQ(of(figures, middle).last_count, 2u);
  EXPECT_EQ(of(figures, middle).waited, milliseconds{80});
  EXPECT_EQ(of(figures, back).waited, milliseconds{80});
  EXPECT_EQ(of(figures, back).computed, milliseconds{10}) << "by its own clock";
  EXPECT_EQ(of(figures, back).network, milliseconds{0}) << "seen from outside waits are in it";
  EXPECT_EQ(of(figures, back).result_count, 6u);
}

TEST(boundary_waits, waits_for_who_is_gone_are_nobodys) {
  boundary_waits waits;
  waits.add(front, milliseconds{30});
  std::vector<named_statistics> figures;
  count_waits(figures, {{back, 1, waits}});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(of(figures, back).waited, milliseconds{30});
}

} // namespace
} // namespace troupe::training_statistics_test
