#include "coordinators/run/hold_rule.hpp"

#include <gtest/gtest.h>

namespace troupe::hold_rule_test {
namespace {

using phase = hold_rule::phase;
using names = std::vector<std::string>;

/// a computes, b is a spare, s holds the spans, i can do nothing.
cluster_view view_of(uint64_t term, uint64_t number, uint64_t start_version = 0) {
  return {.id = {term, number},
          .start_version = start_version,
          .members = {{"a", 1, 1, 0}, {"b", 1, 1, 0}, {"s", 1, 0, 1}, {"i", 1, 0, 0}},
          .replicas = {{0, 0, {0, 4}}, {1, 0, {}}},
          .shards = {{2, 0, {0, 1}}}};
}

cluster_view without_replicas(uint64_t term, uint64_t number) {
  return {.id = {term, number},
          .start_version = 0,
          .members = {{"s", 1, 0, 1}, {"t", 1, 0, 1}},
          .replicas = {},
          .shards = {{0, 0, {0, 1}}, {1, 0, {1, 2}}}};
}

hold_rule holding() {
  hold_rule rule;
  rule.on_view(view_of(1, 1));
  rule.on_stop_requested();
  return rule;
}

TEST(hold_rule, asks_all_that_compute_or_hold_spans) {
  hold_rule rule;
  EXPECT_EQ(rule.on_view(view_of(1, 1)), hold_decisions{});
  EXPECT_EQ(rule.missing(), names{});
  EXPECT_EQ(rule.on_stop_requested(), (hold_decisions{ask_to_hold{{1, 1}, {"a", "b", "s"}}}));
  EXPECT_EQ(rule.on_stop_requested(), hold_decisions{}) << "asked once";
  EXPECT_EQ(rule.state(), phase::holding);
}

TEST(hold_rule, names_the_greatest_first_step_not_started) {
  auto rule = holding();
  EXPECT_EQ(rule.on_held({"a", {1, 1}, 5, {}}), hold_decisions{});
  EXPECT_EQ(rule.on_held({"s", {1, 1}, 0, {4}}), hold_decisions{});
  EXPECT_EQ(rule.missing(), (names{"b"}));
  EXPECT_EQ(rule.on_held({"b", {1, 1}, 0, {}}), (hold_decisions{stop_at{5}}));
  EXPECT_EQ(rule.state(), phase::named);
  EXPECT_EQ(rule.on_held({"b", {1, 1}, 9, {}}), hold_decisions{}) << "too late";
}

TEST(hold_rule, a_shard_may_be_ahead_of_all_that_are_left) {
  auto rule = holding();
  rule.on_held({"a", {1, 1}, 5, {}});
  rule.on_held({"b", {1, 1}, 0, {}});
  EXPECT_EQ(rule.on_held({"s", {1, 1}, 0, {7, 6}}), (hold_decisions{stop_at{7}}));
}

TEST(hold_rule, an_answer_counts_once_and_from_who_was_asked) {
  auto rule = holding();
  rule.on_held({"a", {1, 1}, 5, {}});
  rule.on_held({"a", {1, 1}, 9, {}});
  rule.on_held({"i", {1, 1}, 9, {}});
  rule.on_held({"x", {1, 1}, 9, {}});
  rule.on_held({"b", {1, 1}, 0, {}});
  EXPECT_EQ(rule.on_held({"s", {1, 1}, 0, {5}}), (hold_decisions{stop_at{5}}));
}

TEST(hold_rule, a_new_view_asks_anew) {
  auto rule = holding();
  rule.on_held({"a", {1, 1}, 9, {}});
  EXPECT_EQ(rule.on_view(view_of(1, 2)), (hold_decisions{ask_to_hold{{1, 2}, {"a", "b", "s"}}}));
  EXPECT_EQ(rule.on_view(view_of(1, 1)), hold_decisions{}) << "an old one";
  EXPECT_EQ(rule.on_held({"a", {1, 1}, 9, {}}), hold_decisions{}) << "of the view before";
  EXPECT_EQ(rule.missing(), (names{"a", "b", "s"}));
  rule.on_held({"a", {1, 2}, 3, {}});
  rule.on_held({"b", {1, 2}, 4, {}});
  EXPECT_EQ(rule.on_held({"s", {1, 2}, 0, {3}}), (hold_decisions{stop_at{4}}));
}

TEST(hold_rule, without_anybody_to_compute_it_is_what_the_first_shard_has) {
  hold_rule rule;
  rule.on_view(without_replicas(1, 1));
  rule.on_stop_requested();
  rule.on_held({"s", {1, 1}, 0, {8}});
  EXPECT_EQ(rule.on_held({"t", {1, 1}, 0, {7}}), (hold_decisions{stop_at{8}}));
}

TEST(hold_rule, a_stop_before_the_first_view_is_remembered) {
  hold_rule rule;
  EXPECT_EQ(rule.on_stop_requested(), hold_decisions{});
  EXPECT_EQ(rule.on_view(view_of(1, 1)), (hold_decisions{ask_to_hold{{1, 1}, {"a", "b", "s"}}}));
}

TEST(hold_rule, once_named_it_is_said_again_and_rises_with_a_start_beyond_it_only) {
  auto rule = holding();
  rule.on_held({"a", {1, 1}, 5, {}});
  rule.on_held({"b", {1, 1}, 0, {}});
  rule.on_held({"s", {1, 1}, 0, {5}});
  EXPECT_EQ(rule.on_view(view_of(1, 2)), (hold_decisions{stop_at{5}}));
  EXPECT_EQ(rule.on_view(view_of(2, 1, 4)), (hold_decisions{stop_at{5}}));
  EXPECT_EQ(rule.on_view(view_of(3, 1, 6)), (hold_decisions{stop_at{6}}));
  EXPECT_EQ(rule.on_stop_requested(), hold_decisions{});
}

TEST(hold_rule, a_shard_that_has_passed_the_named_version_moves_it_by_one) {
  auto rule = holding();
  EXPECT_EQ(rule.on_shard_versions({9}), hold_decisions{}) << "nothing is named yet";
  rule.on_held({"a", {1, 1}, 5, {}});
  rule.on_held({"b", {1, 1}, 0, {}});
  rule.on_held({"s", {1, 1}, 0, {5}});
  EXPECT_EQ(rule.on_shard_versions({4, 5}), hold_decisions{});
  EXPECT_EQ(rule.on_shard_versions({7}), hold_decisions{}) << "that cannot be";
  EXPECT_EQ(rule.on_shard_versions({5, 6}), (hold_decisions{stop_at{6}}));
  EXPECT_EQ(rule.on_shard_versions({6, 6}), hold_decisions{});
  EXPECT_EQ(rule.on_view(view_of(1, 2)), (hold_decisions{stop_at{6}}));
}

} // namespace
} // namespace troupe::hold_rule_test
