#include "coordinators/membership/work_watch.hpp"

#include "coordinators/membership/membership_rule.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::work_watch_test {

namespace {

using test::at;
using test::reason_of;
using test::replica;
using test::running;
using test::texts;
using test::texts_of;
using test::two_and_two;

} // namespace

using namespace std::chrono_literals;

namespace {

moment at(milliseconds x) {
  return moment{x};
}

} // namespace

TEST(work_watch, a_piece_is_measured_against_the_longest_that_ended) {
  work_watch watch{1s};
  EXPECT_FALSE(watch.hangs({9min, 0ms}, false)) << "nobody knows how long the first takes";
  EXPECT_TRUE(watch.hangs({11min, 0ms}, false));
  watch.on_report({0ms, 50ms}, at(1s));
  EXPECT_FALSE(watch.hangs({3s, 50ms}, false)) << "3 x lost_after at least";
  EXPECT_TRUE(watch.hangs({3001ms, 50ms}, false));
  watch.on_report({0ms, 6s}, at(2s));
  EXPECT_FALSE(watch.hangs({120s, 6s}, false)) << "slices of 6 s are no fault";
  EXPECT_TRUE(watch.hangs({121s, 6s}, false));
}

TEST(work_watch, who_stops_a_run_waits_less) {
  work_watch watch{1s};
  EXPECT_TRUE(watch.hangs({2001ms, 0ms}, true));
  watch.on_report({0ms, 6s}, at(1s));
  EXPECT_FALSE(watch.hangs({18s, 6s}, true));
  EXPECT_TRUE(watch.hangs({18'001ms, 6s}, true));
}

TEST(work_watch, a_run_stands_still_when_nothing_moves_and_nobody_works) {
  work_watch watch{1s};
  watch.on_moved(at(10s));
  EXPECT_FALSE(watch.stands_still(at(13s)));
  EXPECT_TRUE(watch.stands_still(at(13'001ms)));
  watch.on_report({499ms, 0ms}, at(13s));
  EXPECT_TRUE(watch.stands_still(at(13'001ms))) << "so little holds nobody up";
  watch.on_report({500ms, 0ms}, at(13s));
  EXPECT_FALSE(watch.stands_still(at(16s)));
}

TEST(work_watch, a_long_step_is_no_news) {
  work_watch watch{1s};
  EXPECT_FALSE(watch.works_as_usual({3s, 0ms}));
  watch.on_report({0ms, 6s}, at(1s));
  EXPECT_TRUE(watch.works_as_usual({7s, 6s}));
  EXPECT_FALSE(watch.works_as_usual({19s, 6s}));
  EXPECT_FALSE(watch.works_as_usual({0ms, 6s}));
}

TEST(membership_rule, who_hangs_is_taken_out_and_admitted_once_it_works_again) {
  auto rule = running();
  EXPECT_EQ(texts_of(rule.on_hung("a", "it hangs", at(10))),
            (texts{"turn away a1", "view 1.2 from 0: b r0..4, s s0..1, t s1..2"}));
  rule.on_joined(replica("a", 2), at(20));
  rule.on_fitness("a", true);
  EXPECT_EQ(texts_of(rule.on_tick(at(5000))), texts{}) << "it hangs still";
  rule.on_fitness("a", false);
  EXPECT_EQ(texts_of(rule.on_tick(at(5001))),
            (texts{"view 1.3 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(membership_rule, who_hangs_with_spans_costs_a_term) {
  auto rule = running();
  rule.on_checkpoint(8);
  const auto decisions = rule.on_hung("t", "it hangs", at(10));
  EXPECT_EQ(texts_of(decisions), (texts{"turn away t1", "persist 2"}));
  EXPECT_EQ(reason_of(decisions[1]), "t was taken out: it hangs with its spans");
}

TEST(membership_rule, the_directors_own_process_does_not_go_for_hanging) {
  auto options = two_and_two();
  options.home = "s";
  auto rule = running(options);
  EXPECT_EQ(texts_of(rule.on_hung("s", "it hangs", at(10))), texts{});
}

TEST(membership_rule, a_circle_is_broken_by_a_new_term) {
  auto rule = running();
  rule.on_checkpoint(4);
  EXPECT_EQ(texts_of(rule.on_standstill("nothing moved", at(10))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 4: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(membership_rule, terms_of_a_director_without_a_disk_rise_with_time) {
  using namespace std::chrono_literals;
  EXPECT_EQ(term_floor(0, 5s), 5000u);
  EXPECT_EQ(term_floor(9000, 5s), 9000u) << "the clock was set back";
  EXPECT_EQ(term_floor(3, -5s), 3u);
}

} // namespace troupe::work_watch_test
