#include "coordinators/step/local_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::local_sums_test {

namespace {

constexpr auto add = reduction_plan::add;
using sums = std::vector<local_sums::sum>;
using nodes = std::vector<tree_node>;

/// As many rows as slices, or fewer: then some slices have none.
timeline plan_of(size_t slice_count, size_t row_count = 16) {
  return {.row_count = row_count,
          .batch_size = row_count,
          .slice_count = slice_count,
          .epoch_count = 9,
          .step_limit = {}};
}

local_sums::sum alone(const tree_node& node) {
  return {node, {node}, {{0}}};
}

} // namespace

TEST(local_sums, the_parts_of_all_replicas_make_one_sum) {
  local_sums rule{plan_of(8)};
  rule.set_slices({{0, 2}, {2, 4}});
  EXPECT_EQ(rule.on_part(3, {2, 4}), sums{});
  EXPECT_EQ(rule.on_part(3, {0, 2}), (sums{{{0, 4}, {{0, 2}, {2, 4}}, {{0, 1, add}}}}));
  EXPECT_EQ(rule.on_part(3, {2, 4}), sums{}) << "again";
  EXPECT_EQ(rule.on_part(3, {0, 4}), sums{alone({0, 4})}) << "it is added";
  EXPECT_EQ(rule.on_part(3, {0, 4}), sums{}) << "once";
}

TEST(local_sums, each_largest_node_goes_when_it_is_complete) {
  local_sums rule{plan_of(8)};
  rule.set_slices({{1, 3}, {3, 6}});
  EXPECT_EQ(rule.on_part(0, {2, 3}), sums{});
  EXPECT_EQ(rule.on_part(0, {1, 2}), sums{alone({1, 2})});
  EXPECT_EQ(rule.on_part(0, {4, 6}), sums{alone({4, 6})});
  EXPECT_EQ(rule.on_part(0, {3, 4}), (sums{{{2, 4}, {{2, 3}, {3, 4}}, {{0, 1, add}}}}));
}

TEST(local_sums, slices_without_rows_are_not_waited_for) {
  local_sums rule{plan_of(4, 2)}; // rows in slices 1 and 3
  rule.set_slices({{0, 2}, {2, 4}});
  EXPECT_EQ(rule.on_part(0, {1, 2}), sums{});
  EXPECT_EQ(rule.on_part(0, {3, 4}), (sums{{{0, 4}, {{1, 2}, {3, 4}}, {{0, 1, add}}}}));
  local_sums half{plan_of(4, 2)};
  half.set_slices({{0, 2}});
  EXPECT_EQ(half.on_part(0, {1, 2}), sums{alone({1, 2})}) << "the sum is its only part";
}

TEST(local_sums, a_part_goes_alone_when_nothing_here_is_to_be_added_to_it) {
  local_sums rule{plan_of(4)};
  rule.set_slices({{0, 1}});
  EXPECT_TRUE(rule.goes_alone(0, {0, 1}));
  EXPECT_EQ(rule.on_part(0, {0, 1}), sums{alone({0, 1})}) << "to ask changes nothing";
  EXPECT_FALSE(rule.goes_alone(0, {0, 1})) << "gone";
  EXPECT_TRUE(rule.goes_alone(1, {0, 1}));
  rule.set_slices({{0, 1}, {1, 2}});
  EXPECT_FALSE(rule.goes_alone(1, {0, 1})) << "its neighbour is here";
  EXPECT_FALSE(rule.goes_alone(1, {1, 4})) << "no node of the tree";
}

TEST(local_sums, steps_are_apart_and_end) {
  local_sums rule{plan_of(2)};
  rule.set_slices({{0, 1}, {1, 2}});
  EXPECT_EQ(rule.on_part(0, {0, 1}), sums{});
  EXPECT_EQ(rule.on_part(1, {1, 2}), sums{});
  rule.drop_before(1);
  EXPECT_EQ(rule.on_part(1, {0, 1}).size(), 1u);
  local_sums fresh{plan_of(2)};
  fresh.set_slices({{0, 1}, {1, 2}});
  rule.drop_before(2);
  EXPECT_EQ(rule, fresh);
}

TEST(local_sums, slices_that_go_are_not_waited_for_and_what_is_held_of_them_goes_too) {
  local_sums rule{plan_of(4)};
  rule.set_slices({{0, 2}, {2, 4}});
  rule.on_part(5, {0, 2});
  const auto sent = rule.set_slices({{0, 2}});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent.at(5), sums{alone({0, 2})});
  EXPECT_EQ(rule.on_part(5, {2, 4}), sums{alone({2, 4})}) << "as good from here as from anybody";
}

TEST(local_sums, slices_that_come_make_sums_of_their_own) {
  local_sums rule{plan_of(8)};
  rule.set_slices({{0, 2}});
  EXPECT_EQ(rule.on_part(0, {0, 2}), sums{alone({0, 2})});
  EXPECT_TRUE(rule.set_slices({{0, 8}}).empty());
  EXPECT_EQ(rule.on_part(0, {4, 6}), sums{});
  EXPECT_EQ(rule.on_part(0, {2, 4}), sums{alone({2, 4})});
  EXPECT_EQ(rule.on_part(0, {6, 8}), (sums{{{4, 8}, {{4, 6}, {6, 8}}, {{0, 1, add}}}}));
}

// Another replica has computed a slice that was sent already, and added it to new ones.
TEST(local_sums, a_part_that_is_new_in_part_goes_as_it_is) {
  local_sums rule{plan_of(4)};
  rule.set_slices({{0, 1}});
  EXPECT_EQ(rule.on_part(0, {0, 1}), sums{alone({0, 1})});
  rule.set_slices({{0, 4}});
  EXPECT_EQ(rule.on_part(0, {0, 2}), sums{alone({0, 2})});
  EXPECT_EQ(rule.on_part(0, {1, 2}), sums{}) << "known";
  EXPECT_EQ(rule.on_part(0, {2, 4}), sums{alone({2, 4})});
  EXPECT_EQ(rule.on_part(0, {1, 3}), sums{}) << "no node of the tree";
}

// However slices move and parts come, every slice that was computed is sent, and what is sent once
// the slices stay covers each with the fewest nodes.
TEST(local_sums, nothing_that_was_computed_is_kept_back) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random{seed};
    const size_t count = 1 + random() % 16;
    const auto plan = plan_of(count, 1 + random() % 20);
    local_sums rule{plan};
    const size_t from = random() % count;
    const index_range own{from, from + 1 + random() % (count - from)};
    span_set computed;
    span_set sent;
    nodes going;
    const auto take = [&](const sums& news) {
      for (const auto& x : news) {
        EXPECT_EQ(x.parts.size() == 1, x.node == x.parts[0]);
        going.push_back(x.node);
        if (x.parts.size() > 1) {
          EXPECT_EQ(rule.on_part(0, x.node), sums{alone(x.node)});
        }
        sent.add(x.node);
      }
    };
    const bool moves = seed % 2 == 0;
    if (!moves)
      rule.set_slices({own});
    nodes order = {};
    for (auto slice = own.begin; slice < own.end; ++slice)
      if (plan.slice_exists(0, slice))
        order.push_back({slice, slice + 1});
    std::ranges::shuffle(order, random);
    for (const auto& part : order) {
      if (moves && random() % 3 == 0)
        for (const auto& [step, news] : rule.set_slices({{0, random() % (own.end + 1)}}))
          take(news);
      computed.add(part);
      take(rule.on_part(0, part));
    }
    for (const auto& [step, news] : rule.set_slices({own}))
      take(news);
    for (const auto& part : computed.ranges())
      EXPECT_TRUE(sent.contains(part)) << "seed " << seed;
    if (!moves) {
      EXPECT_LE(going.size(), largest_nodes(count, own).size()) << "seed " << seed;
    }
  }
}

} // namespace troupe::local_sums_test
