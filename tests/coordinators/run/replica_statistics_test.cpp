#include "coordinators/run/replica_statistics.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::replica_statistics_test {

namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
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

} // namespace

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

} // namespace troupe::replica_statistics_test
