// A split model's run with fewer replicas than a group has: it waits by name, and goes on as soon as
// any replica comes.

#include "coordinators/membership/membership_rule.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::lacking_group_test {

namespace {

using test::at;
using test::reason_of;
using test::texts;
using test::texts_of;
using phase = membership_rule::phase;

/// a has a replica and the only shard; b and c bring two and one replica; x is a spare. A model of two
/// segments and two parts, split over all four replicas.
membership_options split_over_four() {
  membership_options result{.expected = {{"a", 1, 1}, {"b", 2, 0}, {"c", 1, 0}, {"x", 0, 0}},
                            .home = "a",
                            .slice_count = 2,
                            .parameter_count = 5000,
                            .join_timeout = milliseconds{1000},
                            .lost_after = milliseconds{100}};
  result.split.shape = {1, 2, 2};
  result.split.part_count = 2;
  result.split.segment_costs = {1, 1};
  return result;
}

member life_of(const std::string& name, uint64_t incarnation = 1) {
  for (const auto& x : split_over_four().expected)
    if (x.name == name)
      return {name, incarnation, x.replica_count, x.shard_count};
  return {};
}

membership_rule running(const std::string& names = "abc") {
  membership_rule rule{split_over_four(), at(0)};
  for (const char name : names)
    rule.on_joined(life_of(std::string(1, name)), at(0));
  rule.on_term_persisted(1);
  return rule;
}

} // namespace

TEST(lacking_group, a_loss_is_waited_for_by_name_and_no_view_is_published) {
  auto rule = running();
  const auto before = rule.view();
  const auto decisions = rule.on_lost("c", 1, at(10));
  ASSERT_EQ(texts_of(decisions), (texts{"wait since 10 c"}));
  EXPECT_EQ(reason_of(decisions[0]),
            "waiting for c: a group needs 4 replicas (tensor 2, pipeline 2), 3 are here");
  EXPECT_EQ(rule.view(), before);
  EXPECT_EQ(rule.state(), phase::running);
  EXPECT_EQ(texts_of(rule.on_tick(at(20))), texts{}) << "told once";
  EXPECT_EQ(reason_of(rule.on_lost("b", 1, at(30)).at(0)),
            "waiting for b, c: a group needs 4 replicas (tensor 2, pipeline 2), 1 are here");
}

TEST(lacking_group, who_comes_back_makes_it_whole_within_the_term) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("c", 2), at(900))),
            (texts{"view 1.2 from 0: a r0..2:0..1/0..1 s0..2, b r0..2:0..1/1..2 r0..2:1..2/0..1, c "
                   "r0..2:1..2/1..2"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(2000))), texts{}) << "the deadline is forgotten";
}

TEST(lacking_group, a_spare_makes_it_whole_too) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("x"), at(20))),
            (texts{"view 1.2 from 0: a r0..2:0..1/0..1 s0..2, b r0..2:0..1/1..2 r0..2:1..2/0..1, x "
                   "r0..2:1..2/1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(30))), (texts{"wait since 30 b"}))
    << "x stands in for c until that is back";
}

TEST(lacking_group, is_given_up_at_the_deadline) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_tick(at(1009))), texts{});
  const auto decisions = rule.on_tick(at(1010));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(
    reason_of(decisions[0]),
    "a group needs 4 replicas (tensor 2, pipeline 2), 3 were there for 1 s; missing: c. Start "
    "one, or raise timeouts.join");
}

TEST(lacking_group, keeps_a_run_from_beginning_with_too_few_nodes) {
  auto options = split_over_four();
  options.min_nodes = 2;
  membership_rule rule{options, at(0)};
  rule.on_joined(life_of("a"), at(0));
  rule.on_joined(life_of("b"), at(0));
  const auto decisions = rule.on_tick(at(1000));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(reason_of(decisions[0]).substr(0, 67),
            "a group needs 4 replicas (tensor 2, pipeline 2), 3 were there for 1");
}

TEST(lacking_group, holds_up_a_new_term_too) {
  auto options = split_over_four();
  options.expected[2].shard_count = 1;
  options.expected[3] = {"d", 1, 0};
  membership_rule rule{options, at(0)};
  for (const auto& x : options.expected)
    rule.on_joined({x.name, 1, x.replica_count, x.shard_count}, at(0));
  rule.on_term_persisted(1);
  EXPECT_EQ(texts_of(rule.on_lost("d", 1, at(5))),
            (texts{"view 1.2 from 0: a r0..2:0..1/0..1 s0..1, "
                   "b r0..2:0..1/1..2 r0..2:1..2/0..1, c "
                   "r0..2:1..2/1..2 s1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(10))), (texts{"wait since 10 c d"}));
  EXPECT_EQ(texts_of(rule.on_joined({"d", 2, 1, 0}, at(20))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..2:0..1/0..1 s0..2, b r0..2:0..1/1..2 "
                   "r0..2:1..2/0..1, d r0..2:1..2/1..2"}));
}

} // namespace troupe::lacking_group_test
