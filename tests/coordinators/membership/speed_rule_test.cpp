// When slices go by speed: what replicas report, in moments of a run.

#include "coordinators/membership/speed_rule.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::speed_rule_test {
namespace {

using namespace test;
using namespace std::chrono_literals;

/// Two processes of one replica each, and 8 slices; 100 steps a second as long as a step takes 10 ms.
struct run {
  cluster_view view;
  speed_rule rule;
  double seconds = 0;
  uint64_t version = 0;
  std::vector<computed_slices> computed{2};
  std::vector<double> speeds{800, 800}; ///< slices a second
  bool is_faster_than_told = false;     ///< a step takes 10 ms whatever replicas say

  run() {
    view.id = {1, 1};
    view.members = {{"a", 1, 1, 1}, {"b", 1, 1, 0}};
    view.replicas = {{0, 0, {0, 4}}, {1, 0, {4, 8}}};
  }

  moment now() const { return moment{std::chrono::milliseconds{std::lround(1000 * seconds)}}; }

  /// A second of training with a report of each; what the rule wants then.
  std::optional<speed_wish> second() {
    double step = 0;
    for (size_t i = 0; i < 2; ++i)
      step = std::max(step, static_cast<double>(view.replicas[i].slices.size()) / speeds[i]);
    const auto steps = static_cast<uint64_t>(std::lround(1 / (is_faster_than_told ? 0.01 : step)));
    version += steps;
    seconds += 1;
    for (size_t i = 0; i < 2; ++i) {
      const auto slices = steps * view.replicas[i].slices.size();
      computed[i].count += slices;
      computed[i].time +=
        std::chrono::nanoseconds{std::lround(1e9 * static_cast<double>(slices) / speeds[i])};
      rule.on_report(view.members[i], {computed[i]}, version, now());
    }
    return rule.due(view, now());
  }

  /// The seconds until the rule wants something, which is then done; nothing within so many.
  std::optional<int> moves_within(int most) {
    for (int i = 1; i <= most; ++i)
      if (const auto wish = second()) {
        view = place_again(view, view.members, 8, {}, {}, {{}, wish->speeds, wish->tried});
        return i;
      }
    return std::nullopt;
  }
  size_t slices_of(size_t i) const { return view.replicas[i].slices.size(); }
};

TEST(speed_rule, equal_replicas_keep_their_slices) {
  run x;
  EXPECT_FALSE(x.moves_within(200));
  x.speeds = {800, 760}; // a twentieth is no reason
  EXPECT_FALSE(x.moves_within(200));
}

TEST(speed_rule, a_slow_one_gets_fewer_once_it_was_slow_for_a_while_and_more_when_it_is_fast) {
  run x;
  x.speeds = {800, 270};
  const auto moved = x.moves_within(60);
  ASSERT_TRUE(moved);
  EXPECT_GE(*moved, 10) << "not at the first sight";
  EXPECT_EQ(x.slices_of(0), 6u);
  EXPECT_EQ(x.slices_of(1), 2u);
  EXPECT_FALSE(x.moves_within(200)) << "it brought something, and stays";
  x.speeds = {800, 800};
  EXPECT_TRUE(x.moves_within(60));
  EXPECT_EQ(x.slices_of(1), 4u);
}

TEST(speed_rule, a_move_that_brings_nothing_is_undone_and_tried_ever_more_seldom) {
  run x;
  x.is_faster_than_told = true;
  x.speeds = {800, 270};
  ASSERT_TRUE(x.moves_within(60));
  EXPECT_EQ(x.slices_of(1), 2u);
  ASSERT_TRUE(x.moves_within(10));
  EXPECT_EQ(x.slices_of(1), 4u) << "as before";
  int last = 0;
  for (int tries = 0; tries < 4; ++tries) {
    const auto again = x.moves_within(2'000);
    ASSERT_TRUE(again);
    EXPECT_GT(*again, last);
    last = *again;
    ASSERT_TRUE(x.moves_within(10));
    EXPECT_EQ(x.slices_of(1), 4u);
  }
}

TEST(speed_rule, one_without_slices_is_tried_with_one_for_a_few_steps_ever_more_seldom) {
  run x;
  x.speeds = {800, 20};
  ASSERT_TRUE(x.moves_within(60));
  EXPECT_EQ(x.slices_of(1), 0u);
  for (const int wait : {55, 115, 235, 475, 595, 595}) {
    EXPECT_FALSE(x.moves_within(wait));
    ASSERT_TRUE(x.moves_within(10));
    EXPECT_EQ(x.slices_of(1), 1u);
    ASSERT_TRUE(x.moves_within(3));
    EXPECT_EQ(x.slices_of(1), 0u) << "it is slow still";
  }
  x.speeds = {800, 800};
  ASSERT_TRUE(x.moves_within(610));
  EXPECT_EQ(x.slices_of(1), 1u);
  ASSERT_TRUE(x.moves_within(3));
  EXPECT_EQ(x.slices_of(1), 4u);
  EXPECT_FALSE(x.moves_within(200));
}

TEST(speed_rule, nobody_is_tried_where_nobody_has_two_slices) {
  run x;
  x.view.replicas = {{0, 0, {0, 1}}, {1, 0, {1, 1}}};
  EXPECT_FALSE(x.moves_within(2'000));
}

TEST(speed_rule, what_another_life_or_term_computed_is_no_measurement) {
  run x;
  x.speeds = {800, 270};
  for (int i = 0; i < 9; ++i)
    EXPECT_FALSE(x.second());
  x.view.id = {2, 1}; // a roll-back
  x.version = 3;
  x.view.members[1].incarnation = 2;
  x.computed[1] = {};
  EXPECT_FALSE(x.second());
  EXPECT_FALSE(x.second());
  const auto moved = x.moves_within(60);
  ASSERT_TRUE(moved);
  EXPECT_EQ(x.slices_of(1), 2u);
}

TEST(speed_rule, words_name_processes_by_their_share_of_the_fastest) {
  EXPECT_EQ(words_of({{{"a", 0}, 40}, {{"a", 1}, 60}, {{"b", 0}, 7}}), "a 1.00, b 0.07");
}

} // namespace
} // namespace troupe::speed_rule_test
