// How a process comes into a run: links first, then versions, then slices.

#include "coordinators/membership/membership_rule.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::newcomers_test {
namespace {

using namespace test;
using phase = membership_rule::phase;

membership_options links_first() {
  auto options = two_and_two();
  options.home = "s";
  options.links_first = true;
  return options;
}

fitness linked_with(const texts& names) {
  return {.linked = names};
}

/// As `running`, with links to all.
membership_rule running_with_links() {
  membership_rule rule{links_first(), at(0)};
  for (const auto& who : {replica("a"), replica("b"), shard("s"), shard("t")}) {
    rule.on_joined(who, at(0));
    rule.on_fitness(who.name, linked_with({"a", "b", "s", "t"}), at(0));
  }
  rule.on_term_persisted(1);
  EXPECT_EQ(rule.state(), phase::running);
  return rule;
}

TEST(newcomer, a_term_waits_for_links_between_all_but_not_for_long) {
  membership_rule rule{links_first(), at(0)};
  rule.on_joined(shard("s"), at(0));
  EXPECT_EQ(rule.present().size(), 1u) << "the first has nobody to be linked with";
  rule.on_joined(replica("a"), at(1));
  rule.on_joined(replica("b"), at(2));
  rule.on_joined(shard("t"), at(3));
  EXPECT_EQ(rule.present().size(), 1u);
  rule.on_fitness("a", linked_with({"s"}), at(4));
  rule.on_fitness("b", linked_with({"s", "a"}), at(5));
  EXPECT_EQ(rule.present().size(), 3u);
  EXPECT_EQ(texts_of(rule.on_fitness("t", linked_with({"s", "b"}), at(6))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(102))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(103))), (texts{"persist 1"}))
    << "parted ones are judged later";
}

TEST(newcomer, a_newcomer_is_admitted_with_links_and_gets_slices_with_a_version) {
  auto rule = running_with_links();
  rule.on_lost("b", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(replica("b", 2), at(20))), texts{});
  EXPECT_EQ(texts_of(rule.on_fitness("b", linked_with({"a", "s"}), at(21))), texts{});
  EXPECT_EQ(texts_of(rule.on_fitness("b", linked_with({"a", "t", "s"}), at(22))),
            (texts{"view 1.3 from 0: a r0..4, b r-, s s0..1, t s1..2"}));
  EXPECT_TRUE(rule.view()->follows(1));
  EXPECT_EQ(texts_of(rule.on_fitness("b", {}, at(23))), texts{}) << "it has no version yet";
  EXPECT_EQ(texts_of(rule.on_fitness("a", {.has_version = true}, at(24))), texts{});
  const auto decisions = rule.on_fitness("b", {.has_version = true}, at(25));
  EXPECT_EQ(texts_of(decisions), (texts{"view 1.4 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
  EXPECT_EQ(reason_of(decisions[0]), "b has the newest version");
  EXPECT_EQ(texts_of(rule.on_fitness("b", {.has_version = true}, at(26))), texts{});
}

TEST(newcomer, a_newcomer_without_a_link_stays_out_is_named_once_and_nobody_goes) {
  auto rule = running_with_links();
  rule.on_lost("b", 1, at(10));
  rule.on_joined(replica("b", 2), at(20));
  rule.on_fitness("b", linked_with({"s", "t"}), at(21));
  EXPECT_EQ(texts_of(rule.on_tick(at(119))), texts{});
  const auto decisions = rule.on_tick(at(120));
  EXPECT_EQ(texts_of(decisions), (texts{"stays out b"}));
  EXPECT_EQ(reason_of(decisions[0]), "no link with a");
  EXPECT_EQ(texts_of(rule.on_tick(at(900))), texts{});
  EXPECT_EQ(texts_of(rule.on_lost("a", 1, at(901))),
            (texts{"view 1.3 from 0: b r0..4, s s0..1, t s1..2"}))
    << "there is nobody left that it has no link with, and nobody else computes";
}

TEST(newcomer, who_alone_can_compute_gets_slices_at_once_and_waits_for_links_not_for_long) {
  auto rule = running_with_links();
  rule.on_lost("a", 1, at(10));
  rule.on_lost("b", 1, at(11));
  EXPECT_EQ(texts_of(rule.on_joined(replica("b", 2), at(20))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(119))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(120))), (texts{"view 1.4 from 0: b r0..4, s s0..1, t s1..2"}));
}

TEST(newcomer, one_that_gets_no_version_is_waited_for_after_a_while) {
  auto rule = running_with_links();
  rule.on_lost("b", 1, at(10));
  rule.on_joined(replica("b", 2), at(20));
  rule.on_fitness("b", linked_with({"a", "s", "t"}), at(21));
  EXPECT_EQ(texts_of(rule.on_tick(at(120))), texts{});
  const auto decisions = rule.on_tick(at(121));
  EXPECT_EQ(texts_of(decisions), (texts{"view 1.4 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
  EXPECT_EQ(reason_of(decisions[0]), "b got no version in 100 ms, so training waits for it");
}

TEST(newcomer, one_without_replicas_is_not_waited_for) {
  auto rule = running_with_links();
  rule.on_lost("t", 1, at(10));
  rule.on_term_persisted(2);
  rule.on_joined(shard("t", 2), at(20));
  EXPECT_EQ(texts_of(rule.on_fitness("t", linked_with({"a", "b", "s"}), at(21))),
            (texts{"view 2.2 from 0: a r0..2, b r2..4, s s0..2, t"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(900))), texts{});
}

TEST(newcomer, of_two_newcomers_with_slices_the_one_with_a_version_gets_all) {
  auto rule = running_with_links();
  rule.on_lost("a", 1, at(10));
  rule.on_lost("b", 1, at(11));
  rule.on_joined(replica("a", 2), at(20));
  rule.on_joined(replica("b", 2), at(20));
  rule.on_fitness("a", linked_with({"b", "s", "t"}), at(21));
  EXPECT_EQ(texts_of(rule.on_fitness("b", linked_with({"a", "s", "t"}), at(22))),
            (texts{"view 1.5 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
  EXPECT_EQ(texts_of(rule.on_fitness("b", {.has_version = true}, at(23))),
            (texts{"view 1.6 from 0: a r-, b r0..4, s s0..1, t s1..2"}));
  EXPECT_EQ(texts_of(rule.on_fitness("a", {.has_version = true}, at(24))),
            (texts{"view 1.7 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(newcomer, a_lost_newcomer_is_forgotten_and_a_term_knows_none) {
  auto rule = running_with_links();
  rule.on_lost("b", 1, at(10));
  rule.on_joined(replica("b", 2), at(20));
  rule.on_fitness("b", linked_with({"a", "s", "t"}), at(21));
  rule.on_lost("b", 2, at(22));
  rule.on_joined(replica("b", 3), at(23));
  EXPECT_EQ(texts_of(rule.on_fitness("b", linked_with({"a", "s", "t"}), at(24))),
            (texts{"view 1.5 from 0: a r0..4, b r-, s s0..1, t s1..2"}));
  rule.on_lost("t", 1, at(25));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..2, b r2..4, s s0..2"}));
}

} // namespace
} // namespace troupe::newcomers_test
