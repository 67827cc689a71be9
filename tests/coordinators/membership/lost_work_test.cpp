#include "coordinators/membership/lost_work.hpp"

#include <gtest/gtest.h>

namespace troupe::lost_work_test {
namespace {

using namespace std::chrono_literals;

moment at(milliseconds time) {
  return moment{} + time;
}

member process(const std::string& name, uint64_t life = 1, uint64_t incarnation = 1) {
  return {name, incarnation, 1, 1, life};
}

/// Members in order; the slices of each.
cluster_view view_of(uint64_t number, const std::vector<std::pair<member, index_range>>& entries) {
  cluster_view result;
  result.id = {1, number};
  for (size_t i = 0; i < entries.size(); ++i) {
    result.members.push_back(entries[i].first);
    result.replicas.push_back({i, 0, entries[i].second});
  }
  return result;
}

const auto a = process("a"), b = process("b"), c = process("c"), d = process("d");

/// a is lost at step 17, then b with what a had, then c.
class Chain : public testing::Test {
protected:
  void SetUp() override {
    all_report(view_of(1, {{a, {0, 1}}, {b, {1, 2}}, {c, {2, 3}}, {d, {3, 4}}}), std::nullopt, 17);
    rule.on_lost(a, at(0ms));
    all_report(view_of(2, {{b, {0, 2}}, {c, {2, 3}}, {d, {3, 4}}}), 17, 17);
    rule.on_lost(b, at(100ms));
    all_report(view_of(3, {{c, {0, 3}}, {d, {3, 4}}}), 17, 17);
  }

  void all_report(const cluster_view& view, std::optional<uint64_t> left, uint64_t version) {
    rule.on_view(view);
    for (const auto& who : view.members)
      rule.on_report(who.name, view.id, left, version);
  }

  lost_work rule{{3, 5s}};
};

TEST_F(Chain, slices_that_three_were_lost_with_end_the_run_when_nobody_comes_back) {
  EXPECT_FALSE(rule.in_doubt(at(150ms)));
  rule.on_lost(c, at(200ms));
  EXPECT_TRUE(rule.in_doubt(at(200ms)));
  EXPECT_TRUE(rule.in_doubt(at(5'199ms)));
  EXPECT_EQ(rule.verdict(at(5'199ms)), std::nullopt);
  EXPECT_FALSE(rule.in_doubt(at(5'200ms)));
  EXPECT_EQ(rule.verdict(at(5'200ms)), (deadly_work{17, {0}, {"a", "b", "c"}}));
}

TEST_F(Chain, who_comes_back_in_the_same_life_was_not_dead) {
  rule.on_lost(c, at(200ms));
  rule.on_joined(process("b", 1, 7));
  EXPECT_FALSE(rule.in_doubt(at(300ms)));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST_F(Chain, who_is_started_again_was) {
  rule.on_lost(c, at(200ms));
  rule.on_joined(process("b", 2, 7));
  EXPECT_TRUE(rule.in_doubt(at(300ms)));
  EXPECT_TRUE(rule.verdict(at(60s)));
}

TEST_F(Chain, a_step_that_is_done_was_not_deadly) {
  EXPECT_TRUE(rule.is_careful());
  rule.on_report("d", {1, 3}, 17, 18);
  EXPECT_FALSE(rule.is_careful());
  rule.on_lost(c, at(200ms));
  EXPECT_FALSE(rule.in_doubt(at(200ms)));
}

TEST_F(Chain, losses_at_other_steps_are_of_another_chain) {
  rule.on_lost(c, at(200ms));
  rule.on_report("d", {1, 3}, 17, 16); // it stands at 16: a roll-back had brought them there
  EXPECT_TRUE(rule.in_doubt(at(300ms)));
  rule.on_view(view_of(4, {{d, {0, 4}}}));
  rule.on_report("d", {1, 4}, 16, 16);
  EXPECT_FALSE(rule.in_doubt(at(400ms)));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST_F(Chain, steps_are_compared_over_terms) {
  rule.on_lost(c, at(200ms));
  auto next = view_of(1, {{d, {0, 4}}});
  next.id.term = 2;
  rule.on_view(next);
  rule.on_report("d", next.id, 17, 3); // from a checkpoint
  EXPECT_EQ(rule.verdict(at(60s)), (deadly_work{17, {0}, {"a", "b", "c"}}));
}

TEST(lost_work, machines_that_fail_together_are_no_chain) {
  lost_work rule{{3, 5s}};
  rule.on_view(view_of(1, {{a, {0, 1}}, {b, {1, 2}}, {c, {2, 3}}, {d, {3, 4}}}));
  for (const auto& who : {a, b, c, d})
    rule.on_report(who.name, {1, 1}, std::nullopt, 17);
  rule.on_lost(a, at(0ms));
  rule.on_view(view_of(2, {{b, {0, 2}}, {c, {2, 3}}, {d, {3, 4}}}));
  rule.on_lost(b, at(0ms)); // it has not said that it has this view
  rule.on_view(view_of(3, {{c, {0, 3}}, {d, {3, 4}}}));
  rule.on_lost(c, at(0ms));
  EXPECT_FALSE(rule.in_doubt(at(1ms)));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST(lost_work, other_slices_are_other_work) {
  lost_work rule{{2, 5s}};
  rule.on_view(view_of(1, {{a, {0, 1}}, {b, {1, 2}}, {c, {2, 3}}}));
  for (const auto& who : {a, b, c})
    rule.on_report(who.name, {1, 1}, std::nullopt, 17);
  rule.on_lost(a, at(0ms));
  rule.on_view(view_of(2, {{b, {1, 2}}, {c, {0, 1}}}));
  for (const auto& who : {b, c})
    rule.on_report(who.name, {1, 2}, 17, 17);
  rule.on_lost(b, at(0ms));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST(lost_work, nothing_counts_where_lives_are_unknown_or_attempts_are_off) {
  for (const bool is_off : {false, true}) {
    lost_work rule{{is_off ? size_t{0} : size_t{1}, 5s}};
    const auto who = process("a", is_off ? 1 : 0);
    rule.on_view(view_of(1, {{who, {0, 1}}, {b, {1, 2}}}));
    rule.on_report("a", {1, 1}, std::nullopt, 17);
    rule.on_lost(who, at(0ms));
    EXPECT_FALSE(rule.is_careful());
  }
}

} // namespace
} // namespace troupe::lost_work_test
