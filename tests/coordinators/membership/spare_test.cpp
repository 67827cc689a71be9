// Spares: processes that bring nothing until somebody is missing (membership_rule.hpp).

#include "coordinators/membership/cluster_plan.hpp"
#include "coordinators/membership/membership_rule.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::spare_test {

namespace {

using test::at;
using test::reason_of;
using test::texts;
using test::texts_of;
using phase = membership_rule::phase;

/// a: a replica and a shard; b: two replicas; c: a replica and a shard; x and y: spares. 4 slices,
/// 2 blocks.
membership_options with_spares() {
  return {.expected = {{"a", 1, 1}, {"x", 0, 0}, {"b", 2, 0}, {"c", 1, 1}, {"y", 0, 0}},
          .home = "a",
          .slice_count = 4,
          .parameter_count = 5000,
          .join_timeout = milliseconds{1000},
          .lost_after = milliseconds{100}};
}

member life_of(const std::string& name, uint64_t incarnation = 1) {
  for (const auto& x : with_spares().expected)
    if (x.name == name)
      return {name, incarnation, x.replica_count, x.shard_count};
  return {};
}

membership_rule running(const std::string& names = "axbcy") {
  membership_rule rule{with_spares(), at(0)};
  for (const char name : names)
    rule.on_joined(life_of(std::string(1, name)), at(0));
  rule.on_term_persisted(1);
  return rule;
}

TEST(spare, is_in_the_view_and_has_nothing_to_do) {
  const auto rule = running();
  EXPECT_EQ(texts_of({publish{*rule.view(), false, ""}}),
            (texts{"view 1.1 from 0: a r0..1 s0..1, x, b r1..2 r2..3, c r3..4 s1..2, y"}));
}

TEST(spare, is_not_waited_for) {
  membership_rule rule{with_spares(), at(0)};
  rule.on_joined(life_of("a"), at(0));
  rule.on_joined(life_of("c"), at(0));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("b"), at(1))), (texts{"persist 1"}));
}

TEST(spare, computes_the_slices_of_one_that_is_lost_and_costs_no_term) {
  auto rule = running();
  const auto decisions = rule.on_lost("b", 1, at(10));
  EXPECT_EQ(texts_of(decisions),
            (texts{"view 1.2 from 0: a r0..1 s0..1, x r1..2 r2..3, c r3..4 s1..2, y"}));
  EXPECT_EQ(reason_of(decisions[0]), "b was lost; x stands in for b");
}

TEST(spare, owns_the_spans_of_one_that_is_lost_in_a_new_term) {
  auto rule = running();
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(10))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..1 s0..1, x r1..2 s1..2, b r2..3 r3..4, y"}));
}

TEST(spare, each_stands_in_for_one_and_the_third_loss_is_borne_by_the_rest) {
  auto rule = running();
  rule.on_lost("b", 1, at(10));
  rule.on_lost("c", 1, at(11));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..1 s0..1, x r1..2 r2..3, y r3..4 s1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("x", 1, at(12))),
            (texts{"view 2.2 from 0: a r0..2 s0..1, y r2..4 s1..2"}));
}

TEST(spare, without_spans_is_free_again_when_the_other_is_back) {
  auto rule = running();
  rule.on_lost("b", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("b", 2), at(20))),
            (texts{"view 1.3 from 0: a r0..1 s0..1, x, b r1..2 r2..3, c r3..4 s1..2, y"}));
}

TEST(spare, with_spans_keeps_them_until_the_term_ends) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  rule.on_term_persisted(2);
  EXPECT_EQ(texts_of(rule.on_joined(life_of("c", 2), at(20))),
            (texts{"view 2.2 from 0: a r0..1 s0..1, x r1..2 s1..2, b r2..3 r3..4, c r-, y"}));
  EXPECT_EQ(texts_of(rule.on_lost("x", 1, at(30))), (texts{"persist 3"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(3)),
            (texts{"restart 3.1 from 0: a r0..1 s0..1, b r1..2 r2..3, c r3..4 s1..2, y"}));
}

TEST(spare, that_comes_late_stands_in_at_once) {
  auto rule = running("abc");
  rule.on_lost("b", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("y"), at(20))),
            (texts{"view 1.3 from 0: a r0..1 s0..1, c r1..2 s1..2, y r2..3 r3..4"}));
}

TEST(spare, begins_for_one_that_did_not_join_in_time) {
  membership_rule rule{with_spares(), at(0)};
  rule.on_joined(life_of("a"), at(0));
  rule.on_joined(life_of("x"), at(0));
  rule.on_joined(life_of("c"), at(0));
  EXPECT_EQ(texts_of(rule.on_tick(at(999))), texts{}) << "b may still come";
  const auto decisions = rule.on_tick(at(1000));
  EXPECT_EQ(texts_of(decisions), (texts{"persist 1"}));
  EXPECT_EQ(reason_of(decisions[0]),
            "starting without b: not joined within 1 s; x stands in for b");
  EXPECT_EQ(texts_of(rule.on_term_persisted(1)),
            (texts{"restart 1.1 from 0: a r0..1 s0..1, x r1..2 r2..3, c r3..4 s1..2"}));
}

TEST(spare, keeps_a_run_alive_that_has_lost_all_its_shards) {
  membership_options options{.expected = {{"a", 1, 0}, {"s", 0, 1}, {"x", 0, 0}},
                             .home = "a",
                             .slice_count = 2,
                             .parameter_count = 10,
                             .join_timeout = milliseconds{1000},
                             .lost_after = milliseconds{100}};
  membership_rule rule{options, at(0)};
  for (const auto& x : options.expected)
    rule.on_joined({x.name, 1, x.replica_count, x.shard_count}, at(0));
  rule.on_term_persisted(1);
  EXPECT_EQ(texts_of(rule.on_lost("s", 1, at(10))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)), (texts{"restart 2.1 from 0: a r0..2, x s0..1"}));
  EXPECT_EQ(rule.state(), phase::running);
}

TEST(spare, has_as_much_ready_as_any_other_brings) {
  cluster_plan plan;
  plan.nodes = {{"a", "", "", true, 1, 3}, {"b", "", "", false, 4, 0}, {"x", "", "", false, 0, 0}};
  EXPECT_EQ(plan.replicas_ready(plan.nodes[2]), 4u);
  EXPECT_EQ(plan.shards_ready(plan.nodes[2]), 3u);
  EXPECT_EQ(plan.replicas_ready(plan.nodes[0]), 1u);
  EXPECT_EQ(plan.shards_ready(plan.nodes[1]), 0u);
}

} // namespace

} // namespace troupe::spare_test
