// Processes that ask to leave, and spans that come to processes without: terms that begin where all stand.

#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::membership_leave_test {
namespace {

using namespace test;

/// a, b and c: a replica and a shard each; d: a replica. Three blocks, no copies.
membership_options options_of() {
  return {.expected = {{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}, {"d", 1, 0}},
          .home = "a",
          .slice_count = 4,
          .parameter_count = 12000,
          .join_timeout = milliseconds{10'000},
          .lost_after = milliseconds{100},
          .copies = {.are_possible = true}};
}

const fitness leaves{.leaves = true};

/// This process says that it leaves, and has waited for a stop.
texts asks(membership_rule& rule, const std::string& name) {
  EXPECT_EQ(texts_of(rule.on_fitness(name, leaves, at(5))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(2004))), texts{}) << "a stop of all may be on its way";
  return texts_of(rule.on_tick(at(2005)));
}

fitness holding(uint64_t term, uint64_t version, const index_range& blocks, bool asks = false) {
  return {.copies = {term, {{version, {blocks}}}}, .leaves = asks};
}

TEST(membership_leave, one_without_spans_goes_at_once) {
  auto rule = running(options_of());
  EXPECT_EQ(asks(rule, "d"),
            (texts{"let go d1", "view 1.2 from 0: a r0..1 s0..1, b r1..2 s1..2, c r2..4 s2..3"}));
  EXPECT_EQ(texts_of(rule.on_fitness("d", leaves, at(2006))), texts{});
  EXPECT_EQ(texts_of(rule.on_lost("d", 1, at(7))), texts{});
  EXPECT_EQ(texts_of(rule.on_joined({"d", 2, 1, 0}, at(8))).size(), 1u) << "another life may come";
}

TEST(membership_leave, one_with_spans_goes_when_others_have_them) {
  auto rule = running(options_of());
  rule.on_restarts(0, {0, 100});
  EXPECT_EQ(asks(rule, "c"), (texts{"cut: c leaves"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(2204))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(2205))), (texts{"cut: c leaves"})) << "until it is made";
  EXPECT_EQ(texts_of(rule.on_cut(7)), (texts{"persist 2", "ask a b c d"}));
  rule.on_term_persisted(2);
  rule.on_fitness("a", holding(2, 7, {0, 1}), at(2207));
  rule.on_fitness("b", holding(2, 7, {1, 2}), at(2207));
  rule.on_fitness("d", {.copies = {2, {}}}, at(2207));
  EXPECT_EQ(texts_of(rule.on_fitness("c", holding(2, 6, {2, 3}, true), at(2208))), texts{})
    << "all have answered, and version 7 is not whole";
  EXPECT_EQ(texts_of(rule.on_tick(at(9000))), texts{}) << "no patience ends that";
  const auto news = rule.on_fitness("c", holding(2, 7, {2, 3}, true), at(9001));
  EXPECT_EQ(texts_of(news),
            (texts{"cut 2.1 from 7: a r0..1 s0..1 has 0..1, b r1..2 s1..3 has 1..2, "
                   "c has 2..3, d r2..4"}));
  EXPECT_EQ(reason_of(news[0]), "c leaves; training starts from version 7");
  EXPECT_EQ(texts_of(rule.on_fitness("c", leaves, at(9002))), texts{}) << "others need what it has";
  EXPECT_EQ(texts_of(rule.on_fitness("a", {.has_version = true}, at(9003))),
            (texts{"let go c1", "view 2.2 from 7: a r0..1 s0..1, b r1..2 s1..3, d r2..4"}));
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(2004))), texts{});
}

/// a to d, where all have answered that they have version 7, as they stand there.
membership_rule standing(const membership_options& options, const texts& leavers) {
  auto rule = running(options);
  rule.on_restarts(0, {0, 100});
  for (const auto& name : leavers)
    rule.on_fitness(name, leaves, at(5));
  rule.on_tick(at(2005));
  rule.on_cut(7);
  rule.on_term_persisted(2);
  return rule;
}

texts all_have_it(membership_rule& rule) {
  texts result;
  for (const auto& [name, first] :
       {std::pair{"a", 0}, std::pair{"b", 1}, std::pair{"c", 2}, std::pair{"d", 3}})
    for (const auto& text : texts_of(rule.on_fitness(
           name,
           {.copies = {2, first == 3
                            ? std::vector<held_copy>{}
                            : std::vector<held_copy>{{7, {{size_t(first), size_t(first) + 1}}}}},
           .leaves = name == std::string{"c"} || name == std::string{"b"}},
           at(10))))
      result.push_back(text);
  return result;
}

TEST(membership_leave, several_go_with_one_cut) {
  auto rule = standing(options_of(), {"b", "c"});
  EXPECT_EQ(all_have_it(rule),
            (texts{"cut 2.1 from 7: a r0..2 s0..3 has 0..1, b has 1..2, c has 2..3, d r2..4"}));
  EXPECT_EQ(texts_of(rule.on_fitness("d", {.has_version = true}, at(11))),
            (texts{"let go b1", "let go c1", "view 2.2 from 7: a r0..2 s0..3, d r2..4"}));
}

// A part of the cut went with it. What is left may be an older one.
TEST(membership_leave, a_loss_on_the_way_costs_what_it_costs_without) {
  auto rule = standing(options_of(), {"c"});
  rule.on_fitness("a", holding(2, 7, {0, 1}), at(10));
  rule.on_fitness("d", {.copies = {2, {}}}, at(10));
  rule.on_lost("b", 1, at(11));
  EXPECT_EQ(texts_of(rule.on_fitness("c", holding(2, 7, {2, 3}, true), at(12))),
            (texts{"restart 2.1 from 0: a r0..2 s0..3, c, d r2..4"}));
  auto holder = standing(options_of(), {"c"});
  for (const auto& [name, first] : {std::pair{"a", 0}, std::pair{"b", 1}})
    holder.on_fitness(name, holding(2, 7, {size_t(first), size_t(first) + 1}), at(10));
  holder.on_fitness("d", {.copies = {2, {}}}, at(10));
  holder.on_fitness("c", holding(2, 7, {2, 3}, true), at(10));
  EXPECT_EQ(holder.state(), membership_rule::phase::running);
  EXPECT_EQ(texts_of(holder.on_lost("c", 1, at(12))), (texts{"persist 3"}))
    << "nobody has said that it has what c had";
}

TEST(membership_leave, whom_the_others_need_stays_until_another_comes) {
  auto options = options_of();
  options.expected = {{"a", 1, 0}, {"b", 1, 1}, {"c", 1, 1}};
  options.parameter_count = 5000;
  options.links_first = false;
  options.min_nodes = 1;
  auto rule = running(options);
  EXPECT_EQ(asks(rule, "b"), (texts{"cut: b leaves"}));
  rule.on_fitness("b", {}, at(6)); // a stop wins
  EXPECT_EQ(texts_of(rule.on_tick(at(1000))), texts{});
  auto last = running(options);
  last.on_fitness("c", leaves, at(5));
  last.on_fitness("b", leaves, at(5));
  last.on_tick(at(2005));
  last.on_cut(0);
  last.on_term_persisted(2);
  last.on_fitness("c", {.copies = {2, {}}, .leaves = true}, at(6));
  last.on_fitness("a", {.copies = {2, {}}}, at(6));
  EXPECT_EQ(texts_of(last.on_fitness("b", {.copies = {2, {}}, .leaves = true}, at(6))),
            (texts{"cut 2.1 from 0: a r0..2, b, c r2..4 s0..2"}))
    << "one stays";
  EXPECT_EQ(texts_of(last.on_fitness("c", {.has_version = true, .leaves = true}, at(7))),
            (texts{"let go b1", "view 2.2 from 0: a r0..2, c r2..4 s0..2"}));
  EXPECT_EQ(texts_of(last.on_tick(at(900))), texts{});
  EXPECT_EQ(texts_of(last.on_joined({"b", 2, 1, 1}, at(901))),
            (texts{"cut: c leaves", "view 2.3 from 0: a r0..1, b r1..2, c r2..4 s0..2"}));
}

TEST(membership_leave, where_nothing_can_be_cut_spans_are_lost) {
  auto options = options_of();
  options.copies = {};
  auto rule = running(options);
  rule.on_restarts(5, {});
  EXPECT_EQ(asks(rule, "c"), (texts{"let go c1", "persist 2"}));
}

// The last other one with replicas is lost while spans are on their way.
TEST(membership_leave, who_is_needed_after_all_takes_part_again) {
  auto options = options_of();
  options.expected = {{"a", 0, 1}, {"b", 1, 1}, {"c", 1, 0}};
  options.parameter_count = 5000;
  auto rule = running(options);
  rule.on_restarts(0, {0, 100});
  EXPECT_EQ(asks(rule, "b"), (texts{"cut: b leaves"}));
  rule.on_cut(7);
  rule.on_term_persisted(2);
  rule.on_fitness("a", holding(2, 7, {0, 1}), at(2006));
  rule.on_fitness("c", {.copies = {2, {}}}, at(2006));
  EXPECT_EQ(texts_of(rule.on_fitness("b", holding(2, 7, {1, 2}, true), at(2006))),
            (texts{"cut 2.1 from 7: a s0..2 has 0..1, b has 1..2, c r0..4"}));
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(2007))),
            (texts{"view 2.2 from 7: a s0..2 has 0..1, b r0..4 has 1..2"}));
  EXPECT_EQ(texts_of(rule.on_fitness("b", {.has_version = true, .leaves = true}, at(2008))),
            texts{});
}

TEST(membership_leave, the_home_of_the_director_never_goes) {
  auto rule = running(options_of());
  EXPECT_EQ(asks(rule, "a"), texts{});
}

TEST(membership_leave, before_training_begins_it_goes_and_is_missed) {
  membership_rule rule{options_of(), at(0)};
  rule.on_joined({"a", 1, 1, 1}, at(0));
  rule.on_joined({"c", 1, 1, 1}, at(0));
  rule.on_fitness("c", leaves, at(5));
  EXPECT_EQ(texts_of(rule.on_tick(at(2005))), (texts{"let go c1", "wait since 0 b c d"}));
}

TEST(membership_leave, spans_come_to_who_has_none_a_while_after_it_came) {
  auto options = options_of();
  options.min_nodes = 3;
  options.settle = milliseconds{1};
  membership_rule rule{options, at(0)};
  rule.on_restarts(0, {0, 100});
  for (const auto* name : {"a", "b", "d"})
    rule.on_joined({name, 1, 1, size_t{name[0] != 'd'}}, at(0));
  rule.on_tick(at(1));
  rule.on_term_persisted(1);
  EXPECT_EQ(rule.state(), membership_rule::phase::running);
  rule.on_joined({"c", 1, 1, 1}, at(100));
  EXPECT_EQ(texts_of(rule.on_tick(at(10'099))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(10'100))), (texts{"cut: spans for c"}));
  rule.on_cut(9);
  rule.on_term_persisted(2);
  rule.on_fitness("a", holding(2, 9, {0, 2}), at(10'101));
  rule.on_fitness("c", {.copies = {2, {}}}, at(10'101));
  rule.on_fitness("d", {.copies = {2, {}}}, at(10'101));
  EXPECT_EQ(
    texts_of(rule.on_fitness("b", holding(2, 9, {2, 3}), at(10'102))),
    (texts{
      "cut 2.1 from 9: a r0..1 s0..1 has 0..2, b r1..2 s1..2 has 2..3, c r2..3 s2..3, d r3..4"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(60'000))), texts{});
}

TEST(membership_leave, no_cut_is_made_for_spans_that_nobody_would_get) {
  auto options = options_of();
  options.parameter_count = 100; // one block
  options.min_nodes = 3;
  options.settle = milliseconds{1};
  membership_rule rule{options, at(0)};
  for (const auto* name : {"a", "b", "d"})
    rule.on_joined({name, 1, 1, size_t{name[0] != 'd'}}, at(0));
  rule.on_tick(at(1));
  rule.on_term_persisted(1);
  rule.on_joined({"c", 1, 1, 1}, at(100));
  EXPECT_EQ(texts_of(rule.on_tick(at(20'000))), texts{});
}

} // namespace
} // namespace troupe::membership_leave_test
