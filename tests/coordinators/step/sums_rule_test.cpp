#include "coordinators/step/sums_rule.hpp"

#include "coordinators/modes/gradients_coordinator.hpp"
#include "coordinators/step/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace troupe::sums_rule_test {

namespace {

using sums = std::vector<double>;
using enum sums_verdict;

} // namespace

TEST(sums_rule, is_complete_when_every_block_is_known) {
  sums_rule rule{3};
  EXPECT_EQ(rule.offer(0, 1, sums{2, 3}), accepted);
  EXPECT_FALSE(rule.totals());
  EXPECT_EQ(rule.offer(0, 0, sums{1}), accepted);
  EXPECT_EQ(rule.totals(), sums{6});
  rule.advance();
  EXPECT_EQ(rule.version(), 1u);
  EXPECT_FALSE(rule.totals());
}

TEST(sums_rule, adds_each_of_several_numbers_over_the_blocks) {
  sums_rule rule{3, 0, 2};
  EXPECT_EQ(rule.offer(0, 0, sums{1}), malformed) << "half a block";
  EXPECT_EQ(rule.offer(0, 1, sums{2, 20, 3, 30, 4, 40}), malformed) << "one too many";
  const auto nothing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rule.offer(0, 1, sums{2, 20, 3, nothing}), accepted);
  EXPECT_EQ(rule.offer(0, 1, sums{2, 20, 3, nothing}), duplicate) << "by bits";
  EXPECT_EQ(rule.offer(0, 1, sums{2, 21}), conflict);
  EXPECT_FALSE(rule.totals());
  EXPECT_EQ(rule.offer(0, 0, sums{1, 10}), accepted);
  const auto totals = rule.totals();
  ASSERT_TRUE(totals);
  ASSERT_EQ(totals->size(), 2u);
  EXPECT_EQ(totals->front(), 6);
  EXPECT_TRUE(std::isnan(totals->back()));
}

TEST(sums_rule, names_what_it_does_not_take) {
  sums_rule rule{3, 5};
  EXPECT_EQ(rule.offer(4, 0, sums{1}), stale);
  EXPECT_EQ(rule.offer(6, 0, sums{1}), early);
  EXPECT_EQ(rule.offer(5, 0, sums{}), malformed);
  EXPECT_EQ(rule.offer(5, 3, sums{1}), malformed);
  EXPECT_EQ(rule.offer(5, 2, sums{1, 1}), malformed);
  EXPECT_EQ(rule.offer(5, ~size_t{0}, sums{1}), malformed);
  EXPECT_EQ(rule.known_count(), 0u);
  EXPECT_EQ(rule.offer(5, 0, sums{1, 2}), accepted);
  EXPECT_EQ(rule.offer(5, 0, sums{1, 2}), duplicate);
  EXPECT_EQ(rule.offer(5, 1, sums{2, 3}), accepted) << "one of them is new";
  EXPECT_EQ(rule.offer(5, 1, sums{2, 4}), conflict);
}

TEST(sums_rule, adds_in_the_same_order_whoever_tells_it_first) {
  std::mt19937_64 random{7};
  sums blocks(101);
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
  EXPECT_EQ(sums(whole.begin() + 2, whole.end()), rest);
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

} // namespace troupe::sums_rule_test
