#include "coordinators/step/local_sums.hpp"

#include "coordinators/modes/gradients_coordinator.hpp"
#include "coordinators/step/placement.hpp"
#include "coordinators/step/sums_rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

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

using numbers = std::vector<double>;
using enum sums_verdict;

TEST(sums_rule, is_complete_when_every_block_is_known) {
  sums_rule rule{3};
  EXPECT_EQ(rule.offer(0, 1, numbers{2, 3}), accepted);
  EXPECT_FALSE(rule.totals());
  EXPECT_EQ(rule.offer(0, 0, numbers{1}), accepted);
  EXPECT_EQ(rule.totals(), numbers{6});
  rule.advance();
  EXPECT_EQ(rule.version(), 1u);
  EXPECT_FALSE(rule.totals());
}

TEST(sums_rule, adds_each_of_several_numbers_over_the_blocks) {
  sums_rule rule{3, 0, 2};
  EXPECT_EQ(rule.offer(0, 0, numbers{1}), malformed) << "half a block";
  EXPECT_EQ(rule.offer(0, 1, numbers{2, 20, 3, 30, 4, 40}), malformed) << "one too many";
  const auto nothing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rule.offer(0, 1, numbers{2, 20, 3, nothing}), accepted);
  EXPECT_EQ(rule.offer(0, 1, numbers{2, 20, 3, nothing}), duplicate) << "by bits";
  EXPECT_EQ(rule.offer(0, 1, numbers{2, 21}), conflict);
  EXPECT_FALSE(rule.totals());
  EXPECT_EQ(rule.offer(0, 0, numbers{1, 10}), accepted);
  const auto totals = rule.totals();
  ASSERT_TRUE(totals);
  ASSERT_EQ(totals->size(), 2u);
  EXPECT_EQ(totals->front(), 6);
  EXPECT_TRUE(std::isnan(totals->back()));
}

TEST(sums_rule, names_what_it_does_not_take) {
  sums_rule rule{3, 5};
  EXPECT_EQ(rule.offer(4, 0, numbers{1}), stale);
  EXPECT_EQ(rule.offer(6, 0, numbers{1}), early);
  EXPECT_EQ(rule.offer(5, 0, numbers{}), malformed);
  EXPECT_EQ(rule.offer(5, 3, numbers{1}), malformed);
  EXPECT_EQ(rule.offer(5, 2, numbers{1, 1}), malformed);
  EXPECT_EQ(rule.offer(5, ~size_t{0}, numbers{1}), malformed);
  EXPECT_EQ(rule.known_count(), 0u);
  EXPECT_EQ(rule.offer(5, 0, numbers{1, 2}), accepted);
  EXPECT_EQ(rule.offer(5, 0, numbers{1, 2}), duplicate);
  EXPECT_EQ(rule.offer(5, 1, numbers{2, 3}), accepted) << "one of them is new";
  EXPECT_EQ(rule.offer(5, 1, numbers{2, 4}), conflict);
}

TEST(sums_rule, adds_in_the_same_order_whoever_tells_it_first) {
  std::mt19937_64 random{7};
  numbers blocks(101);
  for (auto& block : blocks)
    block = static_cast<double>(random() >> 11) * 0x1p-30;
  sums_rule whole{blocks.size()};
  whole.offer(0, 0, blocks);
  std::set<double> in_order_of_arrival;
  for (int round = 0; round < 20; ++round) {
    std::vector<size_t> order(blocks.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::shuffle(order, random);
    sums_rule rule{blocks.size()};
    for (size_t i : order)
      EXPECT_EQ(rule.offer(0, i, std::span{blocks}.subspan(i, 1)), accepted);
    EXPECT_EQ(rule.totals(), whole.totals());
    double sum = 0;
    for (size_t i : order)
      sum += blocks[i];
    in_order_of_arrival.insert(sum);
  }
  EXPECT_GT(in_order_of_arrival.size(), 1u) << "these blocks would show another order";
}

TEST(sums_rule, blocks_are_those_of_the_whole_model_however_it_is_cut) {
  std::vector<float> gradient(3 * block_size + 5);
  for (size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = static_cast<float>(i % 97) * 0.37f;
  const auto whole = square_sums_of_blocks(gradient, 0.1f);
  ASSERT_EQ(whole.size(), 4u);
  const auto rest = square_sums_of_blocks(std::span{gradient}.subspan(2 * block_size), 0.1f);
  EXPECT_EQ(numbers(whole.begin() + 2, whole.end()), rest);
}

TEST(gradients_coordinator, clips_by_norm_only_above_the_limit) {
  for (const auto& [limit, x, y] : {std::tuple{1.0, -0.6f, -0.8f}, {5.0, -3.0f, -4.0f}}) {
    gradients_coordinator_options options;
    options.optimizer.learning_rate = 1;
    options.optimizer.clip_norm = limit;
    gradients_coordinator coordinator{options};
    coordinator.set_parameters(std::vector<float>{0, 0});
    coordinator.start();
    EXPECT_EQ(coordinator.add_gradients(std::vector<float>{6, 8}, 2), gradient_verdict::applied);
    EXPECT_FLOAT_EQ(coordinator.parameters().values()[0], x);
    EXPECT_FLOAT_EQ(coordinator.parameters().values()[1], y);
  }
}

TEST(gradients_coordinator, penalizes_what_its_layout_does_not_call_a_bias) {
  gradients_coordinator_options options;
  options.optimizer.learning_rate = 1;
  options.optimizer.l2 = 0.5;
  for (bool named : {false, true}) {
    if (named) {
      options.layout.emplace();
      options.layout->add("layers.0.weight", {1});
      options.layout->add("layers.0.bias", {1});
    }
    gradients_coordinator coordinator{options};
    coordinator.set_parameters(std::vector<float>{4, 4});
    coordinator.start();
    coordinator.add_gradients(std::vector<float>{1, 1}, 1);
    EXPECT_EQ(coordinator.parameters().values()[0], 1);
    EXPECT_EQ(coordinator.parameters().values()[1], named ? 3 : 1);
  }
  gradients_coordinator mismatched{options};
  EXPECT_THROW(mismatched.set_parameters(std::vector<float>{1, 2, 3}), std::invalid_argument);
}

} // namespace
} // namespace troupe::local_sums_test
