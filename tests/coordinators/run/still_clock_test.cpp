#include "coordinators/run/still_clock.hpp"

#include <gtest/gtest.h>

namespace troupe::still_clock_test {
namespace {

using namespace std::chrono_literals;

/// Versions 1 to 20, one each 10 ms.
still_clock of_usual_steps(moment& now) {
  still_clock result;
  for (uint64_t version = 1; version <= 20; ++version, now += 10ms)
    result.on_version(1, version, now, true);
  now -= 10ms;
  return result;
}

TEST(still_clock, counts_what_is_beyond_three_usual_steps) {
  moment now{1h};
  auto clock = of_usual_steps(now);
  EXPECT_TRUE(clock.gaps().empty());
  clock.on_version(1, 21, now += 49ms, true);
  EXPECT_TRUE(clock.gaps().empty()) << "noise";
  clock = of_usual_steps(now);
  clock.on_version(1, 21, now += 430ms, true);
  EXPECT_EQ(clock.gaps(), (std::vector<still_gap>{{1, 21, 400ms}}));
  clock.restart();
  clock.on_version(1, 90, now += 600s, true);
  EXPECT_TRUE(clock.gaps().empty()) << "it was away";
  clock = of_usual_steps(now);
  clock.on_version(1, 21, now += 430ms, true);
  clock.on_version(2, 9, now += 530ms, true);
  ASSERT_EQ(clock.gaps().size(), 2u) << "a roll-back";
  EXPECT_EQ(clock.gaps().back().version, 9u);
  EXPECT_GE(clock.gaps().back().length, 480ms) << "a long gap is no new usual one";
}

TEST(still_clock, an_evaluated_version_is_waited_for_by_all) {
  moment now{1h};
  auto clock = of_usual_steps(now);
  clock.on_version(1, 21, now += 430ms, false);
  EXPECT_TRUE(clock.gaps().empty());
}

TEST(still_clock, keeps_the_newest_gaps) {
  moment now{1h};
  auto clock = of_usual_steps(now);
  for (uint64_t version = 21; version <= 30; ++version)
    clock.on_version(1, version, now += 1s, true);
  ASSERT_EQ(clock.gaps().size(), still_clock::kept_max);
  EXPECT_EQ(clock.gaps().front().version, 23u);
  EXPECT_EQ(clock.gaps().back().version, 30u);
}

TEST(still_clock, a_newcomer_does_not_take_its_first_versions_for_usual_ones) {
  moment now{1h};
  still_clock clock;
  clock.on_version(1, 1, now, true);
  clock.on_version(1, 2, now += 1ms, true);
  for (uint64_t version = 3; version <= 100; ++version)
    clock.on_version(1, version, now += 1s, true);
  EXPECT_TRUE(clock.gaps().empty());
}

TEST(still_total, counts_a_gap_once_whoever_tells_of_it_and_how_often) {
  still_total total;
  const auto add = [&](const std::vector<still_gap>& gaps) { return total.add(gaps, 1, 10); };
  EXPECT_DOUBLE_EQ(add({{1, 21, 400ms}}), 0.4);
  EXPECT_DOUBLE_EQ(add({{1, 21, 400ms}}), 0);
  EXPECT_DOUBLE_EQ(add({{1, 22, 450ms}}), 0.05) << "another process, a step ahead";
  EXPECT_DOUBLE_EQ(add({{1, 20, 100ms}, {1, 30, 200ms}}), 0.2);
  EXPECT_DOUBLE_EQ(add({{2, 21, 300ms}}), 0.3) << "another term";
  EXPECT_DOUBLE_EQ(add({{1, 0, 5ms}}), 0.005) << "the first version has none before it";
  EXPECT_DOUBLE_EQ(add({{0, 50, 300ms}}), 0) << "of an earlier director";
  EXPECT_DOUBLE_EQ(add({{1, 70, 11s}, {1, 80, milliseconds::max()}, {1, 90, milliseconds::min()}}),
                   0)
    << "nobody can know of such ones";
  EXPECT_DOUBLE_EQ(total.seconds(), 0.955);
}

TEST(still_total, what_it_has_forgotten_is_not_counted_again) {
  still_total total;
  for (uint64_t version = 0; version < 20'000; version += 10)
    ASSERT_DOUBLE_EQ(total.add({{1, version, 100ms}}, 1, 10), 0.1);
  EXPECT_DOUBLE_EQ(total.add({{1, 50, 100ms}}, 1, 10), 0);
}

} // namespace
} // namespace troupe::still_clock_test
