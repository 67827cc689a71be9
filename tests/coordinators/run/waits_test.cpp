#include "coordinators/run/version_reports.hpp"
#include "coordinators/run/waits.hpp"

#include <gtest/gtest.h>

namespace troupe::waits_test {

namespace {

using namespace std::chrono_literals;

const moment start{};

std::string text_of(const std::vector<heard_process>& everybody) {
  return waiting_text(holding_up(everybody));
}

TEST(holding_up, nobody_does_while_all_work) {
  EXPECT_TRUE(holding_up({{"a", {}, 0ms}, {"b", {}, 900ms}}).empty());
  EXPECT_TRUE(holding_up({}).empty());
}

TEST(holding_up, a_process_that_is_waited_for_and_works_does) {
  EXPECT_EQ(text_of({{"a", {{"b", "gradients of step 412, slices 2-3"}}, 0ms}, {"b", {}, 1400ms}}),
            "waiting for node b: gradients of step 412, slices 2-3 (last heard 1.4 s ago)");
}

TEST(holding_up, chains_are_followed_to_their_end) {
  EXPECT_EQ(text_of({{"a", {{"b", "x"}}, 0ms}, {"b", {{"c", "y"}}, 0ms}, {"c", {}, 0ms}}),
            "waiting for node c: y (last heard 0.0 s ago)");
}

TEST(holding_up, what_a_silent_process_said_last_does_not_count) {
  const auto late =
    holding_up({{"a", {{"b", "x"}}, 0ms}, {"b", {{"a", "y"}, {"", "z"}}, silence_max}});
  EXPECT_EQ(late, (std::vector<late_process>{{"b", {"x"}, silence_max}}));
}

TEST(holding_up, a_silent_process_does_although_nobody_misses_it) {
  EXPECT_EQ(text_of({{"a", {}, 0ms}, {"b", {}, 2600ms}}),
            "waiting for node b: a sign of life (last heard 2.6 s ago)");
  EXPECT_TRUE(holding_up({{"a", {}, 0ms}, {"b", {}, silence_max - 1ms}}).empty());
}

TEST(holding_up, in_a_circle_all_do) {
  EXPECT_EQ(text_of({{"a", {{"b", "x"}}, 0ms}, {"b", {{"a", "y"}}, 0ms}, {"c", {{"a", "y"}}, 0ms}}),
            "waiting for node a: y (last heard 0.0 s ago); node b: x (last heard 0.0 s ago)");
}

TEST(holding_up, a_process_waits_for_its_own_parts) {
  EXPECT_EQ(text_of({{"a", {{"", "replicas to finish their step"}}, 100ms}, {"b", {}, 0ms}}),
            "waiting for node a: replicas to finish their step (last heard 0.1 s ago)");
}

TEST(holding_up, more_than_three_are_counted) {
  std::vector<heard_process> everybody;
  for (const auto* name : {"a", "b", "c", "d", "e"})
    everybody.push_back({name, {}, 3s});
  const auto text = text_of(everybody);
  EXPECT_NE(text.find("node c"), std::string::npos) << text;
  EXPECT_NE(text.find("; 2 more"), std::string::npos) << text;
  EXPECT_EQ(text.find("node d"), std::string::npos) << text;
}

TEST(waiting_text, says_who_is_to_join_and_until_when) {
  EXPECT_EQ(joining_text({"c", "d"}, 57'200ms), "waiting for nodes c, d to join (58 s left)");
  EXPECT_EQ(joining_text({"c"}, -5ms), "waiting for node c to join (0 s left)");
  EXPECT_EQ(joining_text({}, 1s), "waiting for a node to join (1 s left)");
}

TEST(waiting_text, times_have_tenths_below_a_minute) {
  EXPECT_EQ(time_text(1449ms), "1.4 s");
  EXPECT_EQ(time_text(1450ms), "1.5 s");
  EXPECT_EQ(time_text(59'900ms), "59.9 s");
  EXPECT_EQ(time_text(75'400ms), "75 s");
}

TEST(wait_reporter, tells_a_wait_once_it_has_lasted) {
  wait_reporter teller{2s};
  EXPECT_FALSE(teller.is_due("b", start, start + 1999ms));
  EXPECT_TRUE(teller.is_due("b", start, start + 2s));
  EXPECT_FALSE(teller.is_due("b", start, start + 2050ms));
}

TEST(wait_reporter, repeats_itself_ever_more_seldom) {
  wait_reporter teller{2s};
  std::vector<int64_t> told_s;
  for (auto now = start; now < start + 300s; now += 50ms)
    if (teller.is_due("b", start, now))
      told_s.push_back(std::chrono::duration_cast<std::chrono::seconds>(now - start).count());
  EXPECT_EQ(told_s, (std::vector<int64_t>{2, 7, 17, 37, 77, 137, 197, 257}));
}

TEST(wait_reporter, tells_at_once_that_it_is_somebody_else) {
  wait_reporter teller{2s};
  EXPECT_TRUE(teller.is_due("b", start, start + 2s));
  EXPECT_TRUE(teller.is_due("c", start, start + 2100ms));
  EXPECT_FALSE(teller.is_due("b", start, start + 2200ms)) << "back and forth is no news";
}

// Every step takes three seconds because of b: that is not a line a step.
TEST(wait_reporter, the_same_wait_again_and_again_is_told_ever_more_seldom) {
  wait_reporter teller{2s};
  int told = 0;
  for (int step = 0; step < 100; ++step) {
    const auto since = start + step * 3s;
    told += teller.is_due("b", since, since + 2500ms);
    teller.over(since + 3s);
  }
  EXPECT_EQ(told, 8);
}

TEST(wait_reporter, a_wait_long_after_another_is_news) {
  wait_reporter teller{2s};
  EXPECT_TRUE(teller.is_due("b", start, start + 10s));
  const auto later = start + 10s + wait_reporter::interval_max + 1s;
  EXPECT_TRUE(teller.is_due("b", later - 2s, later));
  EXPECT_FALSE(teller.is_due("b", later - 2s, later + 4s));
  EXPECT_TRUE(teller.is_due("b", later - 2s, later + 5s)) << "from the shortest interval again";
}

TEST(wait_reporter, says_once_how_long_a_wait_lasted_that_it_told) {
  wait_reporter teller{2s};
  teller.is_due("b", start, start + 1s);
  EXPECT_FALSE(teller.over(start + 1500ms));
  teller.is_due("b", start, start + 2s);
  teller.is_due("c", start + 1s, start + 3s);
  EXPECT_EQ(teller.over(start + 7200ms), 7200ms);
  EXPECT_FALSE(teller.over(start + 8s));
}

TEST(pace, counts_steps_over_the_last_seconds) {
  pace x;
  EXPECT_EQ(x.steps_per_second(start), 0);
  for (int i = 0; i <= 200; ++i)
    x.on_version(i < 100 ? i : 100 + 3 * (i - 100), start + i * 100ms);
  EXPECT_DOUBLE_EQ(x.steps_per_second(start + 20s), 30);
  EXPECT_EQ(x.steps_per_second(start + 20s + pace::window + 1ms), 0) << "nothing comes any more";
}

TEST(pace, a_roll_back_begins_anew) {
  pace x;
  x.on_version(0, start);
  x.on_version(100, start + 1s);
  x.on_version(50, start + 2s);
  EXPECT_EQ(x.steps_per_second(start + 2s), 0);
  x.on_version(60, start + 3s);
  EXPECT_DOUBLE_EQ(x.steps_per_second(start + 3s), 10);
}

} // namespace

} // namespace troupe::waits_test
