#include "coordinators/step/shard_rule.hpp"

#include "tests/support/traced.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::shard_rule_test {
namespace {

using test::sum_along_tree;
using test::traced;
using verdict = offer_verdict;

// 8 slices of one row each; step 1 has 4 rows, in the odd slices.
timeline eight_slices() {
  return {.row_count = 12, .batch_size = 8, .slice_count = 8, .epoch_count = 9, .step_limit = {}};
}

verdict verdict_of(shard_rule& rule, uint64_t step, tree_node node, uint64_t checksum = 0) {
  return rule.offer(step, node, checksum).verdict;
}

/// Every node of the tree with a slice that has rows at `step`.
std::vector<tree_node> nodes_with_rows(const timeline& plan, uint64_t step) {
  std::vector<tree_node> result;
  for (size_t begin = 0; begin < plan.slice_count; ++begin)
    for (size_t end = begin + 1; end <= plan.slice_count; ++end)
      if (is_tree_node(plan.slice_count, {begin, end}) &&
          !sum_along_tree(begin, end, [&](size_t i) {
             return plan.slice_exists(step, i);
           }).text.empty())
        result.push_back({begin, end});
  return result;
}

/// What the header's table says, read off a bare list of held nodes.
verdict expected_verdict(const std::vector<tree_node>& held, const tree_node& node) {
  for (const auto& other : held)
    if (other == node)
      return verdict::duplicate;
  for (const auto& other : held)
    if (other.contains(node))
      return verdict::covered;
  return verdict::accepted;
}

uint64_t checksum_of(uint64_t step, const tree_node& node) {
  return 1 + step * 10'000 + node.begin * 100 + node.end;
}

/// A shard's step under a seeded rain of contributions, checked after each.
class walk {
public:
  explicit walk(uint64_t seed) : random_(seed) {
    plan_.row_count = 1 + random_() % 40;
    plan_.batch_size = 1 + random_() % plan_.row_count;
    plan_.slice_count = 1 + random_() % 17;
    plan_.epoch_count = 10;
    rule_ = shard_rule{plan_, random_() % 4};
  }

  void run_step() {
    const auto step = rule_.version();
    const auto nodes = nodes_with_rows(plan_, step);
    // Leaves by preference at times: large nodes would end most walks at once.
    const bool prefers_leaves = random_() % 2 == 0;
    held_.clear();
    values_.clear();
    for (int events = 0; !is_covered(step); ++events) {
      ASSERT_LT(events, 10'000);
      ASSERT_FALSE(rule_.complete()) << "not covered yet";
      auto node = nodes[random_() % nodes.size()];
      if (prefers_leaves && node.size() > 1)
        node = nodes[random_() % nodes.size()];
      disturb(step, node);
      offer(step, node);
      check_invariant();
    }
    const auto plan = rule_.complete();
    ASSERT_TRUE(plan);
    ASSERT_EQ(evaluate_plan(*plan, values_), sum_of(step, {0, plan_.slice_count}));
    rule_.advance();
    ASSERT_EQ(rule_.version(), step + 1);
    ASSERT_TRUE(rule_.held().empty());
  }

private:
  traced sum_of(uint64_t step, const tree_node& node) const {
    return sum_along_tree(node.begin, node.end,
                          [&](size_t i) { return plan_.slice_exists(step, i); });
  }

  bool is_covered(uint64_t step) const {
    for (size_t i = 0; i < plan_.slice_count; ++i)
      if (plan_.slice_exists(step, i) &&
          std::ranges::none_of(held_, [&](const tree_node& node) { return node.contains(i); }))
        return false;
    return true;
  }

  // What must change nothing: other steps, ranges that are no nodes, other bits for a held node.
  void disturb(uint64_t step, const tree_node& node) {
    const auto before = rule_;
    if (step > 0) {
      ASSERT_EQ(verdict_of(rule_, step - 1, node), verdict::stale);
    }
    ASSERT_EQ(verdict_of(rule_, step + 1 + random_() % 2, node), verdict::early);
    const tree_node any{random_() % 20, random_() % 20};
    if (!is_tree_node(plan_.slice_count, any)) {
      ASSERT_EQ(verdict_of(rule_, step, any), verdict::malformed);
    }
    if (!held_.empty()) {
      const auto& known = held_[random_() % held_.size()];
      ASSERT_EQ(verdict_of(rule_, step, known, checksum_of(step, known)), verdict::duplicate);
      ASSERT_EQ(verdict_of(rule_, step, known, ~uint64_t{0}), verdict::conflict);
    }
    ASSERT_EQ(rule_, before);
  }

  // Keeps the values as a shard does: by `position` and `dropped` alone.
  void offer(uint64_t step, const tree_node& node) {
    const auto result = rule_.offer(step, node, checksum_of(step, node));
    ASSERT_EQ(result.verdict, expected_verdict(held_, node));
    if (result.verdict != verdict::accepted)
      return;
    const auto at = static_cast<std::ptrdiff_t>(result.position);
    const auto end = at + static_cast<std::ptrdiff_t>(result.dropped);
    held_.erase(held_.begin() + at, held_.begin() + end);
    held_.insert(held_.begin() + at, node);
    values_.erase(values_.begin() + at, values_.begin() + end);
    values_.insert(values_.begin() + at, sum_of(step, node));
  }

  void check_invariant() const {
    ASSERT_EQ(rule_.held(), held_);
    for (size_t k = 0; k < held_.size(); ++k) {
      ASSERT_TRUE(is_tree_node(plan_.slice_count, held_[k]));
      if (k > 0) {
        ASSERT_LE(held_[k - 1].end, held_[k].begin) << "sorted and disjoint";
      }
    }
  }

  std::mt19937_64 random_;
  timeline plan_;
  shard_rule rule_{timeline{}};
  std::vector<tree_node> held_;
  std::vector<traced> values_; ///< of held_
};

TEST(shard_rule, contributions_to_other_steps_are_stale_or_early) {
  shard_rule rule{eight_slices(), 2};
  EXPECT_EQ(verdict_of(rule, 1, {0, 1}), verdict::stale);
  EXPECT_EQ(verdict_of(rule, 3, {0, 1}), verdict::early);
  EXPECT_EQ(verdict_of(rule, 2, {0, 1}), verdict::accepted);
  EXPECT_EQ(rule.held(), (std::vector<tree_node>{{0, 1}}));
}

TEST(shard_rule, what_is_no_node_is_malformed) {
  shard_rule rule{eight_slices()};
  for (const auto& node : {tree_node{1, 3}, {0, 3}, {0, 9}, {8, 9}, {3, 3}, {3, 2}})
    EXPECT_EQ(verdict_of(rule, 0, node), verdict::malformed) << node.begin << ' ' << node.end;
  EXPECT_TRUE(rule.held().empty());
}

TEST(shard_rule, a_node_without_rows_is_malformed) {
  shard_rule rule{eight_slices(), 1};
  EXPECT_EQ(verdict_of(rule, 1, {0, 1}), verdict::malformed);
  EXPECT_EQ(verdict_of(rule, 1, {0, 2}), verdict::accepted) << "slice 1 has a row";
  EXPECT_EQ(verdict_of(rule, 1, {7, 8}), verdict::accepted);
}

TEST(shard_rule, a_node_that_comes_twice_is_a_duplicate) {
  shard_rule rule{eight_slices()};
  EXPECT_EQ(verdict_of(rule, 0, {2, 4}, 7), verdict::accepted);
  EXPECT_EQ(verdict_of(rule, 0, {2, 4}, 7), verdict::duplicate);
}

TEST(shard_rule, other_bits_for_a_held_node_are_a_conflict) {
  shard_rule rule{eight_slices()};
  verdict_of(rule, 0, {4, 6}, 9);
  verdict_of(rule, 0, {2, 4}, 7);
  EXPECT_EQ(verdict_of(rule, 0, {2, 4}, 8), verdict::conflict);
  EXPECT_EQ(verdict_of(rule, 0, {2, 4}, 9), verdict::conflict) << "the checksum of another node";
  EXPECT_EQ(verdict_of(rule, 0, {4, 6}, 9), verdict::duplicate);
}

TEST(shard_rule, a_checksum_is_forgotten_with_its_node) {
  shard_rule rule{eight_slices()};
  verdict_of(rule, 0, {0, 1}, 1);
  verdict_of(rule, 0, {1, 2}, 2);
  verdict_of(rule, 0, {2, 3}, 3);
  verdict_of(rule, 0, {0, 2}, 4);
  EXPECT_EQ(verdict_of(rule, 0, {0, 2}, 4), verdict::duplicate);
  EXPECT_EQ(verdict_of(rule, 0, {2, 3}, 3), verdict::duplicate);
  rule.advance();
  EXPECT_EQ(verdict_of(rule, 1, {0, 2}, 5), verdict::accepted);
  EXPECT_EQ(verdict_of(rule, 1, {0, 2}, 5), verdict::duplicate);
}

TEST(shard_rule, a_node_below_a_held_one_is_covered) {
  shard_rule rule{eight_slices()};
  verdict_of(rule, 0, {0, 4});
  EXPECT_EQ(verdict_of(rule, 0, {0, 2}), verdict::covered);
  EXPECT_EQ(verdict_of(rule, 0, {3, 4}), verdict::covered);
  EXPECT_EQ(verdict_of(rule, 0, {4, 5}), verdict::accepted);
}

TEST(shard_rule, a_larger_node_takes_the_place_of_those_below_it) {
  shard_rule rule{eight_slices()};
  using result = shard_rule::offer_result;
  EXPECT_EQ(rule.offer(0, {6, 7}, 0), (result{verdict::accepted, 0, 0}));
  EXPECT_EQ(rule.offer(0, {0, 2}, 0), (result{verdict::accepted, 0, 0}));
  EXPECT_EQ(rule.offer(0, {5, 6}, 0), (result{verdict::accepted, 1, 0}));
  EXPECT_EQ(rule.offer(0, {4, 5}, 0), (result{verdict::accepted, 1, 0}));
  EXPECT_EQ(rule.held(), (std::vector<tree_node>{{0, 2}, {4, 5}, {5, 6}, {6, 7}}));
  EXPECT_EQ(rule.offer(0, {4, 6}, 0), (result{verdict::accepted, 1, 2}));
  EXPECT_EQ(rule.offer(0, {4, 8}, 0), (result{verdict::accepted, 1, 2}));
  EXPECT_EQ(rule.held(), (std::vector<tree_node>{{0, 2}, {4, 8}}));
}

TEST(shard_rule, a_step_is_complete_with_its_last_slice_that_has_rows) {
  shard_rule rule{eight_slices(), 1};
  for (size_t slice : {7u, 1u, 5u}) {
    verdict_of(rule, 1, {slice, slice + 1});
    EXPECT_FALSE(rule.complete());
  }
  verdict_of(rule, 1, {3, 4});
  const auto add = reduction_plan::add;
  ASSERT_TRUE(rule.complete());
  EXPECT_EQ(rule.complete()->operations, (std::vector<int32_t>{0, 1, add, 2, 3, add, add}));
}

TEST(shard_rule, the_next_version_begins_with_nothing_held) {
  shard_rule rule{eight_slices()};
  verdict_of(rule, 0, {0, 8});
  EXPECT_TRUE(rule.complete());
  rule.advance();
  EXPECT_EQ(rule, (shard_rule{eight_slices(), 1}));
  EXPECT_FALSE(rule.complete());
  EXPECT_EQ(verdict_of(rule, 0, {0, 8}), verdict::stale);
}

TEST(shard_rule, any_rain_of_contributions_gives_the_same_additions) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    walk one{seed};
    for (int step = 0; step < 3; ++step) {
      one.run_step();
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
  }
}

} // namespace
} // namespace troupe::shard_rule_test
