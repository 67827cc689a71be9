#include "troupe/coordinators/membership/membership_rule.hpp"

#include "troupe/tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::membership_watch_test {

namespace {

using test::at;
using test::reason_of;
using test::replica;
using test::running;
using test::texts;
using test::texts_of;
using test::two_and_two;

} // namespace

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

} // namespace troupe::membership_watch_test
