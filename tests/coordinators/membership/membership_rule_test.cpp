#include "coordinators/membership/membership_rule.hpp"

#include "coordinators/membership/cluster_plan.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::membership_rule_test {
namespace {

using namespace test;
using phase = membership_rule::phase;

TEST(membership_rule, starts_when_everybody_is_here_and_the_term_is_on_disk) {
  membership_rule rule{two_and_two(), at(0)};
  EXPECT_EQ(texts_of(rule.on_joined(shard("t"), at(1))), (texts{"wait since 0 a b s"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(2))), texts{}) << "said once";
  rule.on_joined(replica("b"), at(3));
  EXPECT_EQ(texts_of(rule.on_joined(shard("s"), at(3))), (texts{"wait since 0 a"}));
  EXPECT_EQ(texts_of(rule.on_joined(replica("a"), at(4))), (texts{"persist 1"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(5))), texts{}) << "asked once";
  EXPECT_EQ(rule.state(), phase::restarting);
  EXPECT_FALSE(rule.view());
  EXPECT_EQ(texts_of(rule.on_term_persisted(1)),
            (texts{"restart 1.1 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
  EXPECT_EQ(rule.state(), phase::running);
  EXPECT_EQ(rule.view()->id, (view_number{1, 1}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(1)), texts{}) << "a second time";
}

TEST(membership_rule, a_second_join_in_the_same_life_is_nothing) {
  auto rule = running();
  const auto before = rule;
  EXPECT_EQ(texts_of(rule.on_joined(shard("s"), at(0))), texts{});
  EXPECT_EQ(rule, before);
}

TEST(membership_rule, ends_when_some_do_not_come_unless_fewer_are_said_to_be_enough) {
  membership_rule rule{two_and_two(), at(0)};
  for (const auto& who : {replica("b"), shard("s"), shard("t")})
    rule.on_joined(who, at(0));
  EXPECT_EQ(texts_of(rule.on_tick(at(999))), texts{});
  const auto decisions = rule.on_tick(at(1000));
  EXPECT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(reason_of(decisions[0]),
            "only 3 of 4 nodes came within 1 s; missing: a. Start them, raise timeouts.join, or "
            "say with min_nodes how many are enough");
  auto options = two_and_two();
  options.min_nodes = 3;
  membership_rule enough{options, at(0)};
  for (const auto& who : {replica("b"), shard("s"), shard("t")})
    enough.on_joined(who, at(0));
  EXPECT_EQ(texts_of(enough.on_tick(at(1000))), (texts{"persist 1"}));
}

TEST(membership_rule, goes_ahead_without_the_missing_after_the_join_timeout) {
  auto options = two_and_two();
  options.min_nodes = 1;
  membership_rule rule{options, at(0)};
  rule.on_joined(replica("b"), at(0));
  rule.on_joined(shard("t"), at(0));
  EXPECT_EQ(texts_of(rule.on_tick(at(999))), texts{});
  const auto decisions = rule.on_tick(at(1000));
  EXPECT_EQ(texts_of(decisions), (texts{"persist 1"}));
  EXPECT_EQ(reason_of(decisions[0]), "starting without a, s: not joined within 1 s");
  EXPECT_EQ(texts_of(rule.on_term_persisted(1)), (texts{"restart 1.1 from 0: b r0..4, t s0..2"}));
}

TEST(membership_rule, gives_up_when_no_replica_or_no_shard_came_in_time) {
  membership_rule without_shard{two_and_two(), at(0)};
  without_shard.on_joined(replica("a"), at(0));
  without_shard.on_joined(replica("b"), at(0));
  EXPECT_EQ(texts_of(without_shard.on_tick(at(999))), texts{});
  auto decisions = without_shard.on_tick(at(1000));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(reason_of(decisions[0]),
            "no process with a shard was there for 1 s; missing: s, t. Start one, or raise "
            "timeouts.join");
  EXPECT_EQ(without_shard.state(), phase::stopped);
  EXPECT_EQ(texts_of(without_shard.on_joined(shard("s"), at(1001))), texts{}) << "too late";

  membership_rule without_replica{two_and_two(), at(0)};
  without_replica.on_joined(shard("s"), at(0));
  EXPECT_EQ(reason_of(without_replica.on_tick(at(1000)).back()).substr(0, 25),
            "no process with a replica");
  membership_rule alone{two_and_two(), at(0)};
  EXPECT_EQ(reason_of(alone.on_tick(at(1000)).back()).substr(0, 36),
            "no process with a replica or a shard");
}

TEST(membership_rule, who_can_do_nothing_is_not_waited_for) {
  auto options = two_and_two();
  options.expected.push_back({"idle", 0, 0});
  membership_rule rule{options, at(0)};
  rule.on_joined(replica("a"), at(0));
  rule.on_joined(replica("b"), at(0));
  rule.on_joined(shard("s"), at(0));
  EXPECT_EQ(texts_of(rule.on_joined(shard("t"), at(0))), (texts{"persist 1"}));
}

TEST(membership_rule, a_stranger_is_turned_away) {
  membership_rule rule{two_and_two(), at(0)};
  const auto decisions = rule.on_joined(replica("x", 7), at(0));
  EXPECT_EQ(texts_of(decisions), (texts{"turn away x7"}));
  EXPECT_EQ(reason_of(decisions[0]), "x is not in the cluster file");
  EXPECT_EQ(texts_of(rule.on_lost("x", 7, at(0))), texts{});
}

TEST(membership_rule, losing_a_replica_costs_a_number) {
  auto rule = running();
  EXPECT_EQ(texts_of(rule.on_lost("a", 1, at(5))),
            (texts{"view 1.2 from 0: b r0..4, s s0..1, t s1..2"}));
  EXPECT_EQ(texts_of(rule.on_joined(replica("a", 2), at(6))),
            (texts{"view 1.3 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(membership_rule, losing_a_span_costs_a_term_from_the_last_checkpoint) {
  auto rule = running();
  rule.on_restarts(8, {});
  rule.on_restarts(4, {});
  const auto decisions = rule.on_lost("s", 1, at(5));
  EXPECT_EQ(texts_of(decisions), (texts{"persist 2"}));
  EXPECT_EQ(reason_of(decisions[0]), "s was lost with its spans");
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(6))), texts{}) << "the old term is over";
  const auto begun = rule.on_term_persisted(2);
  EXPECT_EQ(texts_of(begun), (texts{"restart 2.1 from 8: a r0..4, t s0..2"}));
  EXPECT_EQ(reason_of(begun[0]),
            "s was lost with its spans; b was lost; training starts from version 8");
  EXPECT_EQ(texts_of(rule.on_joined(shard("s", 2), at(7))),
            (texts{"view 2.2 from 8: a r0..4, s, t s0..2"}))
    << "spans do not move within a term";
}

TEST(membership_rule, a_name_with_another_incarnation_replaces_its_former_life) {
  auto rule = running();
  EXPECT_EQ(texts_of(rule.on_joined(shard("t", 2), at(5))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("t", 1, at(6))), texts{}) << "its link is heard of late";
  EXPECT_EQ(texts_of(rule.on_joined(replica("b", 2), at(7))),
            (texts{"view 2.2 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(membership_rule, a_life_that_is_over_does_not_come_back) {
  auto rule = running();
  rule.on_lost("a", 1, at(5));
  const auto decisions = rule.on_joined(replica("a", 1), at(6));
  EXPECT_EQ(texts_of(decisions), (texts{"turn away a1"}));
  EXPECT_NE(reason_of(decisions[0]).find("join anew"), std::string::npos);
  rule.on_lost("a", 2, at(7));
  EXPECT_EQ(texts_of(rule.on_joined(replica("a", 2), at(8))), (texts{"turn away a2"}))
    << "lost before it had joined";
}

TEST(membership_rule, waits_for_a_replica_and_says_so) {
  auto rule = running();
  rule.on_lost("a", 1, at(5));
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(6))),
            (texts{"view 1.3 from 0: s s0..1, t s1..2", "wait since 6 a b"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(1005))), texts{});
  auto in_vain = rule;
  EXPECT_EQ(texts_of(in_vain.on_tick(at(1006))), (texts{"give up"}));
  EXPECT_EQ(texts_of(rule.on_joined(replica("b", 2), at(1005))),
            (texts{"view 1.4 from 0: b r0..4, s s0..1, t s1..2"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(3000))), texts{}) << "nobody needs a";
  EXPECT_EQ(texts_of(rule.on_lost("b", 2, at(3000))),
            (texts{"view 1.5 from 0: s s0..1, t s1..2", "wait since 3000 a b"}))
    << "a new wait";
}

TEST(membership_rule, waits_for_a_shard_before_it_asks_for_a_term) {
  auto rule = running();
  rule.on_lost("s", 1, at(5)); // term 2 is being written
  EXPECT_EQ(texts_of(rule.on_lost("t", 1, at(6))), (texts{"wait since 6 s t"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)), texts{});
  EXPECT_EQ(texts_of(rule.on_joined(shard("t", 2), at(7))),
            (texts{"restart 2.1 from 0: a r0..2, b r2..4, t s0..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("t", 2, at(8))), (texts{"wait since 8 s t"}));
  auto in_vain = rule;
  EXPECT_EQ(texts_of(in_vain.on_tick(at(1008))), (texts{"give up"}));
  EXPECT_EQ(texts_of(rule.on_joined(shard("s", 2), at(9))), (texts{"persist 3"}));
}

TEST(membership_rule, a_higher_term_ends_a_stale_director) {
  auto options = two_and_two();
  options.persisted_term = 4;
  auto rule = running(options);
  EXPECT_EQ(rule.view()->id, (view_number{5, 1}));
  EXPECT_EQ(texts_of(rule.on_term_seen(4)), texts{});
  EXPECT_EQ(texts_of(rule.on_term_seen(5)), texts{});
  rule.on_lost("s", 1, at(5)); // asks for term 6
  const auto decisions = rule.on_term_seen(6);
  EXPECT_EQ(texts_of(decisions), (texts{"stand down"})) << "nobody has heard of ours yet";
  EXPECT_EQ(reason_of(decisions[0]), "another director has begun term 6, this one knows of none "
                                     "above 5: it has been replaced");
  EXPECT_EQ(texts_of(rule.on_term_persisted(6)), texts{});
  EXPECT_EQ(texts_of(rule.on_term_seen(7)), texts{}) << "said once";
}

TEST(membership_rule, a_term_nobody_asked_for_is_not_used) {
  membership_rule rule{two_and_two(), at(0)};
  for (const auto& who : {replica("a"), replica("b"), shard("s"), shard("t")})
    rule.on_joined(who, at(0));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)), texts{});
  EXPECT_EQ(texts_of(rule.on_term_persisted(0)), texts{});
  EXPECT_EQ(rule.state(), phase::restarting);
}

TEST(membership_rule, a_restarted_director_begins_above_its_terms_at_its_checkpoint) {
  auto options = two_and_two();
  options.persisted_term = 4;
  options.checkpoint_version = 12;
  const auto rule = running(options);
  EXPECT_EQ(rule.view()->id, (view_number{5, 1}));
  EXPECT_EQ(rule.view()->start_version, 12u);
}

// ---- links between others ----

TEST(membership_rule, of_two_without_a_link_the_one_without_spans_goes) {
  auto rule = running();
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "a", at(10))), texts{});
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "a", at(109))), texts{});
  const auto decisions = rule.on_unreachable("s", "a", at(110)); // since it was said first
  EXPECT_EQ(texts_of(decisions),
            (texts{"turn away a1", "view 1.2 from 0: b r0..4, s s0..1, t s1..2"}));
  EXPECT_EQ(reason_of(decisions[0]), "a was taken out: no link between it and s for 100 ms");
  EXPECT_EQ(texts_of(rule.on_joined(replica("a", 1), at(111))), (texts{"turn away a1"}));
  EXPECT_EQ(texts_of(rule.on_joined(replica("a", 2), at(112))), texts{}) << "not yet";
  EXPECT_EQ(texts_of(rule.on_tick(at(309))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(310))),
            (texts{"view 1.3 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(500))), texts{}) << "old reports went with it";
}

TEST(membership_rule, who_is_taken_out_again_and_again_stays_out_longer_and_longer) {
  auto rule = running();
  moment now = at(0);
  for (const int wait : {200, 400, 800, 1000, 1000}) {
    const auto life = rule.view()->members[0].incarnation;
    rule.on_unreachable("a", "s", now);
    EXPECT_EQ(texts_of(rule.on_unreachable("a", "s", now + milliseconds{100})).size(), 2u) << wait;
    now += milliseconds{100 + wait};
    rule.on_joined(replica("a", life + 1), now - milliseconds{wait});
    EXPECT_EQ(texts_of(rule.on_tick(now - milliseconds{1})), texts{}) << wait;
    EXPECT_EQ(texts_of(rule.on_tick(now)).size(), 1u) << wait;
  }
  now += milliseconds{1000}; // long enough in, it is trusted again
  rule.on_unreachable("a", "s", now - milliseconds{100});
  rule.on_unreachable("a", "s", now);
  rule.on_joined(replica("a", 10), now);
  EXPECT_EQ(texts_of(rule.on_tick(now + milliseconds{200})).size(), 1u);
}

TEST(membership_rule, who_is_lost_while_it_waits_to_be_admitted_is_not) {
  auto rule = running();
  rule.on_unreachable("a", "s", at(0));
  rule.on_unreachable("a", "s", at(100));
  rule.on_joined(replica("a", 2), at(100));
  rule.on_joined(replica("a", 3), at(110));
  EXPECT_EQ(texts_of(rule.on_lost("a", 2, at(120))), texts{});
  auto alive = rule;
  EXPECT_EQ(texts_of(alive.on_tick(at(300))).size(), 1u) << "the other life is there";
  EXPECT_EQ(texts_of(rule.on_lost("a", 3, at(130))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(300))), texts{});
}

TEST(membership_rule, a_link_that_comes_back_costs_nothing) {
  auto rule = running();
  rule.on_unreachable("a", "s", at(10));
  rule.on_unreachable("s", "a", at(20));
  rule.on_reachable("a", "s", at(50));
  EXPECT_EQ(texts_of(rule.on_unreachable("a", "s", at(115))), texts{}) << "lost anew";
  auto one_way = rule;
  EXPECT_EQ(texts_of(one_way.on_unreachable("s", "a", at(120))).size(), 2u)
    << "s still has none to a";
  rule.on_reachable("s", "a", at(119));
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "a", at(120))), texts{});
}

// Its reporter is silent, or has not been heard yet since the link came back.
TEST(membership_rule, what_was_said_of_a_link_long_ago_takes_nobody_out) {
  auto rule = running();
  rule.on_unreachable("s", "a", at(10));
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "a", at(60))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(5000))), texts{});
  EXPECT_EQ(texts_of(rule.on_reachable("s", "a", at(5001))), texts{});
}

// A report that is under way while its peer is lost and comes back is of the former life.
TEST(membership_rule, a_report_of_a_former_life_takes_nobody_out_unless_it_is_said_again) {
  auto rule = running();
  rule.on_unreachable("s", "a", at(0));
  rule.on_lost("a", 1, at(10));
  rule.on_joined(replica("a", 2), at(20));
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "a", at(100))), texts{}) << "the first of this life";
  EXPECT_EQ(texts_of(rule.on_tick(at(300))), texts{});
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "a", at(301))).size(), 2u);
}

TEST(membership_rule, of_two_with_spans_the_later_goes) {
  auto rule = running();
  rule.on_unreachable("s", "t", at(0));
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "t", at(100))), (texts{"turn away t1", "persist 2"}));
}

TEST(membership_rule, who_is_cut_off_from_most_goes) {
  auto options = two_and_two();
  options.expected[2] = {"s", 1, 0};
  auto rule = running(options);
  rule.on_unreachable("a", "b", at(0));
  rule.on_unreachable("b", "a", at(0)); // the same link, not one more
  rule.on_unreachable("s", "a", at(50));
  EXPECT_EQ(texts_of(rule.on_unreachable("a", "b", at(100))),
            (texts{"turn away a1", "view 1.2 from 0: b r0..2, s r2..4, t s0..2"}));
}

TEST(membership_rule, the_directors_own_process_is_never_taken_out) {
  auto options = two_and_two();
  options.home = "b";
  auto rule = running(options);
  rule.on_unreachable("s", "b", at(0));
  EXPECT_EQ(texts_of(rule.on_unreachable("s", "b", at(100))), (texts{"turn away s1", "persist 2"}));
}

TEST(membership_rule, before_the_first_view_who_could_take_spans_counts_as_having_them) {
  membership_rule rule{two_and_two(), at(0)};
  rule.on_joined(shard("s"), at(0));
  rule.on_joined(replica("a"), at(0));
  rule.on_unreachable("a", "s", at(0));
  EXPECT_EQ(texts_of(rule.on_unreachable("a", "s", at(100))),
            (texts{"turn away a1", "wait since 0 a b t"}));
}

TEST(membership_rule, reports_about_who_is_not_here_are_nothing) {
  auto rule = running();
  rule.on_lost("a", 1, at(0));
  const auto before = rule;
  rule.on_unreachable("s", "a", at(0));
  rule.on_unreachable("a", "s", at(0));
  rule.on_unreachable("x", "s", at(0));
  rule.on_unreachable("s", "s", at(0));
  EXPECT_EQ(rule, before);
}

// Processes that the cluster file does not list.

/// a: a replica and a shard; b: two replicas. Others may join. 4 slices, 2 blocks.
membership_options open_to_others() {
  return {.expected = {{"a", 1, 1}, {"b", 2, 0}},
          .lets_join = true,
          .home = "a",
          .slice_count = 4,
          .parameter_count = 5000,
          .join_timeout = milliseconds{1000},
          .lost_after = milliseconds{100}};
}

membership_rule running_with_joiners(const std::vector<std::string>& names) {
  membership_rule rule{open_to_others(), at(0)};
  rule.on_joined({"a", 1, 1, 1}, at(0));
  rule.on_joined({"b", 1, 2, 0}, at(0));
  rule.on_term_persisted(1);
  for (const auto& name : names)
    rule.on_joined({name, 1, 1, 1}, at(1));
  return rule;
}

TEST(joiner, is_turned_away_where_the_listed_ones_alone_take_part) {
  auto options = open_to_others();
  options.lets_join = false;
  membership_rule rule{options, at(0)};
  const auto decisions = rule.on_joined({"z", 1, 1, 1}, at(0));
  EXPECT_EQ(texts_of(decisions), (texts{"turn away z1"}));
  EXPECT_EQ(reason_of(decisions[0]), "z is not in the cluster file");
}

TEST(joiner, comes_behind_the_listed_ones_in_the_order_of_admission) {
  const auto rule = running_with_joiners({"z", "y"});
  EXPECT_EQ(texts_of({publish{*rule.view(), false, ""}}),
            (texts{"view 1.3 from 0: a r0..1 s0..2, b r1..2 r2..3, z r3..4, y r-"}));
}

TEST(joiner, takes_over_the_slices_of_one_that_is_lost) {
  auto rule = running_with_joiners({"z"});
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(10))),
            (texts{"view 1.3 from 0: a r0..2 s0..2, z r2..4"}));
}

TEST(joiner, that_is_lost_is_forgotten_and_its_name_is_free) {
  auto rule = running_with_joiners({"z", "y"});
  EXPECT_EQ(texts_of(rule.on_lost("z", 1, at(10))),
            (texts{"view 1.4 from 0: a r0..1 s0..2, b r1..2 r2..3, y r3..4"}));
  EXPECT_EQ(rule.on_joined({"z", 1, 1, 1}, at(11)).size(), 1u) << "that life is over";
  EXPECT_EQ(texts_of(rule.on_joined({"z", 2, 1, 1}, at(12))),
            (texts{"view 1.5 from 0: a r0..1 s0..2, b r1..2 r2..3, y r3..4, z r-"}));
}

TEST(joiner, owns_spans_in_the_next_term) {
  auto rule = running_with_joiners({"z"});
  rule.on_standstill("nothing moves", at(10));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..1 s0..1, b r1..2 r2..3, z r3..4 s1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("z", 1, at(20))), (texts{"persist 3"}));
}

TEST(joiner, is_never_waited_for) {
  membership_rule rule{open_to_others(), at(0)};
  rule.on_joined({"z", 1, 1, 1}, at(0));
  const auto waits = rule.on_joined({"a", 1, 1, 1}, at(1));
  EXPECT_EQ(texts_of(waits), (texts{"wait since 0 b"})) << "z does not make up for b";
  rule.on_lost("z", 1, at(2));
  EXPECT_EQ(texts_of(rule.on_joined({"b", 1, 2, 0}, at(3))), (texts{"persist 1"}));
}

TEST(joiner, keeps_a_run_alive_that_has_lost_all_its_shards) {
  auto options = open_to_others();
  options.expected = {{"a", 1, 0}, {"s", 0, 1}};
  membership_rule rule{options, at(0)};
  rule.on_joined(replica("a"), at(0));
  rule.on_joined(shard("s"), at(0));
  rule.on_term_persisted(1);
  rule.on_lost("s", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(shard("z"), at(20))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)), (texts{"restart 2.1 from 0: a r0..4, z s0..2"}));
}

TEST(joiner, counts_among_those_that_are_enough_to_begin_with) {
  auto options = two_and_two();
  options.lets_join = true;
  options.min_nodes = 4;
  options.settle = milliseconds{50};
  membership_rule rule{options, at(0)};
  for (const auto& who : {replica("b"), shard("s"), shard("t"), replica("z")})
    rule.on_joined(who, at(0));
  EXPECT_EQ(texts_of(rule.on_tick(at(49))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(50))), (texts{"persist 1"}));
}

TEST(joiner, more_of_them_than_are_listed_may_be_needed_to_begin) {
  auto options = open_to_others();
  options.min_nodes = 4;
  options.settle = milliseconds{50};
  membership_rule rule{options, at(0)};
  rule.on_joined({"a", 1, 1, 1}, at(0));
  const auto waits = rule.on_joined({"b", 1, 2, 0}, at(0));
  EXPECT_EQ(reason_of(waits.back()), "waiting for a process: 2 of 4 nodes are here");
  EXPECT_EQ(texts_of(rule.on_joined({"z", 1, 1, 1}, at(1))), (texts{"wait since 0"}));
  rule.on_joined({"y", 1, 1, 1}, at(2));
  EXPECT_EQ(texts_of(rule.on_tick(at(51))), texts{}) << "more may come";
  const auto begins = rule.on_tick(at(52));
  EXPECT_EQ(texts_of(begins), (texts{"persist 1"}));
  EXPECT_EQ(reason_of(begins[0]), "everybody is here");
}

TEST(joiner, does_not_make_up_for_a_listed_one_at_the_deadline) {
  membership_rule rule{open_to_others(), at(0)};
  rule.on_joined({"a", 1, 1, 1}, at(0));
  rule.on_joined({"z", 1, 1, 1}, at(0));
  const auto decisions = rule.on_tick(at(1000));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(
    reason_of(decisions[0]),
    "only 1 of 2 nodes came within 1 s; missing: b. Start them, raise timeouts.join, or say with "
    "min_nodes how many are enough");
}

TEST(joiner, who_brings_nothing_is_not_counted) {
  auto options = open_to_others();
  options.expected.push_back({"leader", 0, 0});
  options.min_nodes = 3;
  membership_rule rule{options, at(0)};
  rule.on_joined({"leader", 1, 0, 0}, at(0));
  rule.on_joined({"a", 1, 1, 1}, at(0));
  EXPECT_EQ(reason_of(rule.on_joined({"b", 1, 2, 0}, at(0)).back()),
            "waiting for a process: 2 of 3 nodes are here");
}

TEST(joiner, too_few_end_the_run_at_the_deadline) {
  auto options = open_to_others();
  options.min_nodes = 3;
  membership_rule rule{options, at(0)};
  rule.on_joined({"a", 1, 1, 1}, at(0));
  rule.on_joined({"b", 1, 2, 0}, at(0));
  const auto decisions = rule.on_tick(at(1000));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(reason_of(decisions[0]),
            "only 2 of 3 nodes came within 1 s. Start them, raise timeouts.join, or say with "
            "min_nodes how many are enough");
}

TEST(membership_rule, begins_without_the_missing_when_nobody_has_come_for_a_while) {
  auto options = two_and_two();
  options.min_nodes = 3;
  options.settle = milliseconds{50};
  membership_rule rule{options, at(0)};
  for (const auto& who : {replica("b"), shard("s")})
    rule.on_joined(who, at(0));
  EXPECT_EQ(texts_of(rule.on_tick(at(300))), texts{}) << "too few";
  const auto waits = rule.on_joined(shard("t"), at(310));
  EXPECT_EQ(reason_of(waits.back()),
            "waiting for a; training begins without once nobody has come for 50 ms");
  EXPECT_EQ(texts_of(rule.on_tick(at(359))), texts{});
  const auto decisions = rule.on_tick(at(360));
  EXPECT_EQ(texts_of(decisions), (texts{"persist 1"}));
  EXPECT_EQ(reason_of(decisions[0]), "starting without a: nobody came for 50 ms");
}

} // namespace
} // namespace troupe::membership_rule_test
