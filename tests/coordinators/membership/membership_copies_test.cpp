// Terms that begin where the last one was, by copies of spans in members' memory.

#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::membership_copies_test {
namespace {

using namespace test;

/// a and b: a replica and a shard each, with copies every two steps; c: a replica. Two blocks.
membership_options with_copies() {
  return {.expected = {{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 0}},
          .home = "a",
          .slice_count = 3,
          .parameter_count = 5000,
          .join_timeout = milliseconds{1000},
          .lost_after = milliseconds{100},
          .copies = {1, 2, 1}};
}

fitness holding(uint64_t term, std::vector<held_copy> copies) {
  return {.copies = {term, std::move(copies)}};
}

TEST(membership_copies, a_term_begins_from_the_newest_version_that_is_whole_in_memory) {
  auto rule = running(with_copies());
  EXPECT_EQ(rule.view()->copy_every, 2u);
  rule.on_restarts(3, {0, 100});
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(10))), (texts{"persist 2", "ask a c"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)), texts{}) << "nobody has answered";
  EXPECT_EQ(texts_of(rule.on_fitness("c", holding(2, {}), at(11))), texts{});
  EXPECT_EQ(texts_of(rule.on_fitness("a", holding(1, {{8, {{0, 2}}}}), at(12))), texts{}) << "late";
  EXPECT_EQ(texts_of(rule.on_tick(at(209))), texts{});
  EXPECT_EQ(texts_of(rule.on_tick(at(210))), (texts{"ask a"}));
  EXPECT_EQ(texts_of(rule.on_fitness("a", holding(2, {{6, {{0, 2}}}, {8, {{0, 1}}}}), at(220))),
            (texts{"restart 2.1 from 6: a r0..1 s0..2 has 0..2, c r1..3"}));
  EXPECT_EQ(rule.view()->copy_every, 0u) << "one owner is left";
}

TEST(membership_copies, who_does_not_answer_is_waited_for_a_second_and_the_disk_comes_last) {
  auto rule = running(with_copies());
  rule.on_restarts(3, {0, 100});
  rule.on_lost("b", 1, at(10));
  rule.on_fitness("c", holding(2, {}), at(11));
  rule.on_term_persisted(2);
  for (int64_t time = 20; time < 1010; time += 10)
    for (const auto& text : texts_of(rule.on_tick(at(time))))
      EXPECT_EQ(text, "ask a");
  EXPECT_EQ(texts_of(rule.on_tick(at(1010))),
            (texts{"restart 2.1 from 3: a r0..1 s0..2, c r1..3"}));
}

TEST(membership_copies, no_term_begins_where_the_director_cannot_go_back_to_or_before_the_disk) {
  for (const auto& [cuts, start] : {std::pair{index_range{0, 6}, "5: a r0..1 s0..2 has 0..2"},
                                    std::pair{index_range{0, 5}, "4: a r0..1 s0..2"},
                                    std::pair{index_range{6, 7}, "6: a r0..1 s0..2 has 0..2"}}) {
    auto rule = running(with_copies());
    rule.on_restarts(4, cuts);
    rule.on_lost("b", 1, at(10));
    rule.on_fitness("c", holding(2, {}), at(11));
    rule.on_term_persisted(2);
    EXPECT_EQ(texts_of(rule.on_fitness(
                "a", holding(2, {{3, {{0, 2}}}, {5, {{0, 2}}}, {6, {{0, 2}}}}), at(12))),
              (texts{std::string{"restart 2.1 from "} + start + ", c r1..3"}));
  }
}

// It may be the only one that has some of the state, and the others may not have got it yet.
TEST(membership_copies, the_loss_of_who_holds_a_part_begins_another_term) {
  auto options = with_copies();
  options.expected[2].shard_count = 1;
  options.parameter_count = 12000;
  auto rule = running(options);
  rule.on_restarts(0, {0, 100});
  rule.on_lost("b", 1, at(10));
  rule.on_term_persisted(2);
  rule.on_fitness("a", holding(2, {{2, {{0, 2}}}}), at(11));
  EXPECT_EQ(texts_of(rule.on_fitness("c", holding(2, {{2, {{1, 3}}}}), at(11))),
            (texts{"restart 2.1 from 2: a r0..1 s0..1 has 0..2, c r1..3 s1..3 has 2..3"}));
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(12))), (texts{"persist 3", "ask a"}));
  rule.on_term_persisted(3);
  EXPECT_EQ(texts_of(rule.on_fitness("a", holding(3, {{2, {{0, 2}}}}), at(13))),
            (texts{"restart 3.1 from 0: a r0..3 s0..3"}))
    << "nobody has block 2";
}

// It owns nothing any more, but others may still get the state from it.
TEST(membership_copies, a_holder_without_a_span_is_missed_too) {
  membership_rule rule{{.expected = {{"a", 1, 2}, {"b", 1, 1}, {"c", 1, 1}},
                        .home = {},
                        .slice_count = 3,
                        .parameter_count = 5000,
                        .min_nodes = 2,
                        .settle = milliseconds{10},
                        .join_timeout = milliseconds{1000},
                        .lost_after = milliseconds{100},
                        .copies = {1, 2, 1}},
                       at(0)};
  rule.on_restarts(0, {0, 100});
  rule.on_joined({"b", 1, 1, 1}, at(0));
  rule.on_joined({"c", 1, 1, 1}, at(0));
  rule.on_tick(at(10));
  rule.on_term_persisted(1);
  rule.on_joined({"a", 1, 1, 2}, at(20));
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(30))), (texts{"persist 2", "ask a b"}));
  rule.on_fitness("a", holding(2, {}), at(30)); // it came when there was nothing to copy
  rule.on_term_persisted(2);
  EXPECT_EQ(texts_of(rule.on_fitness("b", holding(2, {{4, {{0, 2}}}}), at(31))),
            (texts{"restart 2.1 from 4: a r0..1 s0..1 s1..2, b r1..3 has 0..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(32))), (texts{"persist 3"}));
}

} // namespace
} // namespace troupe::membership_copies_test
