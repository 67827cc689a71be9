#include "coordinators/run/slow_watch.hpp"

#include <gtest/gtest.h>

namespace troupe::slow_watch_test {

namespace {

using std::chrono::milliseconds;

/// What happens to each replica in a second of a run.
struct second_of {
  const char* process;
  uint64_t results = 100;
  uint64_t last = 0;
  int last_by_ms = 0;
  int computed_ms = 300;
};

slow_watch after(int seconds, const std::vector<second_of>& all) {
  slow_watch watch;
  for (int second = 0; second <= seconds; ++second) {
    std::vector<named_statistics> figures;
    for (const auto& x : all) {
      named_statistics one;
      one.who = {x.process, 0};
      one.figures.result_count = 1'000 + second * x.results;
      one.figures.last_count = 500 + second * x.last;
      one.figures.last_by = milliseconds{second * x.last_by_ms};
      one.figures.computed = milliseconds{second * x.computed_ms};
      figures.push_back(one);
    }
    watch.on_figures(figures, moment{} + std::chrono::seconds{100 + second});
  }
  return watch;
}

} // namespace

TEST(slow_watch, who_computes_longer_than_others_is_named_after_a_whole_window) {
  const std::vector<second_of> all{{"a"}, {"b", 100, 95, 620, 930}, {"c"}};
  EXPECT_FALSE(after(9, all).slow());
  const auto slow = after(10, all).slow();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->who, (replica_name{"b", 0}));
  EXPECT_EQ(slow->steps, 1'000u);
  EXPECT_EQ(slow->last, 950u);
  EXPECT_NEAR(slow->waited_share, 0.62, 1e-9);
  EXPECT_NEAR(slow->late_ms, 6'200.0 / 950, 1e-9);
  EXPECT_NEAR(slow->computing_ratio, 3.1, 1e-9);
}

TEST(slow_watch, who_takes_turns_or_is_late_by_little_is_not) {
  EXPECT_FALSE(after(12, {{"a", 100, 50, 400}, {"b", 100, 50, 400}}).slow());
  EXPECT_FALSE(after(12, {{"a"}, {"b", 100, 100, 299}}).slow());
  EXPECT_TRUE(after(12, {{"a"}, {"b", 100, 100, 301}}).slow());
  EXPECT_FALSE(after(12, {{"a", 100, 50, 160}, {"b", 100, 50, 600}}).slow())
    << "of 760 ms a second";
  EXPECT_TRUE(after(12, {{"a", 100, 97, 140}, {"b", 100, 3, 600}}).slow()) << "seldom, and by much";
}

TEST(slow_watch, computing_that_is_longer_and_yet_short_is_not_why_somebody_is_late) {
  const auto slow = after(10, {{"a", 100, 0, 0, 10}, {"b", 100, 100, 600, 50}}).slow();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->computing_ratio, 0) << "40 ms of 600";
  EXPECT_NEAR(after(10, {{"a", 100, 0, 0, 10}, {"b", 100, 100, 600, 410}}).slow()->computing_ratio,
              41, 1e-9);
}

TEST(slow_watch, few_steps_or_one_replica_say_nothing) {
  EXPECT_FALSE(after(10, {{"a", 0}, {"b", 100, 100, 900}}).slow()) << "nobody to compare with";
  slow_watch once;
  named_statistics a, b;
  a.who = {"a", 0};
  b.who = {"b", 0};
  once.on_figures({a, b}, moment{} + std::chrono::seconds{1});
  a.figures.result_count = b.figures.result_count = b.figures.last_count = 9;
  b.figures.last_by = milliseconds{9'000};
  once.on_figures({a, b}, moment{} + std::chrono::seconds{12});
  EXPECT_FALSE(once.slow()) << "nine steps";
}

TEST(slow_watch, what_is_over_is_forgotten_and_another_life_begins_anew) {
  auto watch = after(10, {{"a"}, {"b", 100, 95, 620, 930}});
  ASSERT_TRUE(watch.slow());
  auto figures = std::vector<named_statistics>(2);
  figures[0].who = {"a", 0};
  figures[1].who = {"b", 0};
  auto lives_on = watch;
  for (int second = 11; second <= 22; ++second) {
    for (auto& one : figures)
      one.figures.result_count = 2'000 + static_cast<uint64_t>(second);
    figures[1].figures.last_count = 1'450;
    figures[1].figures.last_by = milliseconds{6'200};
    lives_on.on_figures(figures, moment{} + std::chrono::seconds{100 + second});
  }
  EXPECT_FALSE(lives_on.slow());
  for (auto& one : figures)
    one.figures.result_count = 1;
  watch.on_figures(figures, moment{} + std::chrono::seconds{111});
  EXPECT_FALSE(watch.slow());
}

} // namespace troupe::slow_watch_test
