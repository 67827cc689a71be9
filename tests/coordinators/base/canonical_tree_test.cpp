#include "coordinators/base/canonical_tree.hpp"

#include "models/math/tree_accumulator.hpp"
#include "tests/support/traced.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe::canonical_tree_test {
namespace {

using test::sum_along_tree;
using test::traced;

constexpr auto add = reduction_plan::add;

bool always(size_t) {
  return true;
}

std::optional<std::vector<int32_t>> operations_of(size_t slice_count,
                                                  const std::vector<tree_node>& held,
                                                  const std::function<bool(size_t)>& exists) {
  const auto plan = plan_reduction(slice_count, held, exists);
  return plan ? std::optional{plan->operations} : std::nullopt;
}

using operations = std::vector<int32_t>;

TEST(canonical_tree, the_left_child_is_the_largest_power_of_two_below) {
  const std::pair<size_t, size_t> cases[] = {{2, 1}, {3, 2}, {4, 2},  {5, 4},
                                             {8, 4}, {9, 8}, {16, 8}, {17, 16}};
  for (const auto& [count, left] : cases)
    EXPECT_EQ(left_size(count), left) << count;
}

TEST(canonical_tree, five_slices_have_nine_nodes) {
  const std::vector<tree_node> nodes{{0, 1}, {0, 2}, {0, 4}, {0, 5}, {1, 2},
                                     {2, 3}, {2, 4}, {3, 4}, {4, 5}};
  std::vector<tree_node> found;
  for (size_t begin = 0; begin < 8; ++begin)
    for (size_t end = 0; end < 8; ++end)
      if (is_tree_node(5, {begin, end}))
        found.push_back({begin, end});
  EXPECT_EQ(found, nodes);
  EXPECT_FALSE(is_tree_node(0, {0, 0}));
  EXPECT_FALSE(is_tree_node(0, {0, 1}));
  EXPECT_TRUE(is_tree_node(1, {0, 1}));
}

TEST(canonical_tree, an_owner_sends_the_largest_nodes_within_its_slices) {
  using nodes = std::vector<tree_node>;
  EXPECT_EQ(largest_nodes(5, {0, 5}), (nodes{{0, 5}}));
  EXPECT_EQ(largest_nodes(5, {1, 5}), (nodes{{1, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(largest_nodes(5, {0, 4}), (nodes{{0, 4}}));
  EXPECT_EQ(largest_nodes(8, {1, 7}), (nodes{{1, 2}, {2, 4}, {4, 6}, {6, 7}}));
  EXPECT_EQ(largest_nodes(8, {3, 5}), (nodes{{3, 4}, {4, 5}}));
  EXPECT_EQ(largest_nodes(1, {0, 1}), (nodes{{0, 1}}));
  EXPECT_EQ(largest_nodes(4, {2, 2}), nodes{});
  EXPECT_EQ(largest_nodes(0, {0, 1}), nodes{});
}

TEST(canonical_tree, largest_nodes_partition_every_range) {
  for (size_t count = 1; count <= 20; ++count)
    for (size_t begin = 0; begin < count; ++begin)
      for (size_t end = begin + 1; end <= count; ++end) {
        size_t next = begin;
        for (const auto& node : largest_nodes(count, {begin, end})) {
          EXPECT_TRUE(is_tree_node(count, node));
          EXPECT_EQ(node.begin, next);
          next = node.end;
        }
        EXPECT_EQ(next, end);
      }
}

TEST(canonical_tree, a_plan_adds_siblings_first) {
  EXPECT_EQ(operations_of(1, {{0, 1}}, always), (operations{0}));
  EXPECT_EQ(operations_of(3, {{0, 1}, {1, 2}, {2, 3}}, always), (operations{0, 1, add, 2, add}));
  EXPECT_EQ(operations_of(4, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, always),
            (operations{0, 1, add, 2, 3, add, add}));
  EXPECT_EQ(operations_of(4, {{0, 2}, {2, 3}, {3, 4}}, always), (operations{0, 1, 2, add, add}));
  EXPECT_EQ(operations_of(4, {{0, 4}}, always), (operations{0}));
}

TEST(canonical_tree, a_plan_leaves_out_slices_that_do_not_exist) {
  const auto odd = [](size_t i) { return i % 2 == 1; };
  EXPECT_EQ(operations_of(4, {{1, 2}, {3, 4}}, odd), (operations{0, 1, add}));
  EXPECT_EQ(operations_of(4, {{0, 2}, {3, 4}}, odd), (operations{0, 1, add}));
  EXPECT_EQ(operations_of(4, {{3, 4}}, [](size_t i) { return i == 3; }), (operations{0}));
  EXPECT_EQ(operations_of(4, {{0, 1}}, [](size_t i) { return i == 0; }), (operations{0}));
  EXPECT_EQ(
    operations_of(8, {{1, 2}, {5, 6}, {7, 8}}, [](size_t i) { return i == 1 || i == 5 || i == 7; }),
    (operations{0, 1, 2, add, add}));
}

TEST(canonical_tree, there_is_no_plan_while_a_slice_is_missing) {
  EXPECT_FALSE(plan_reduction(4, {}, always));
  EXPECT_FALSE(plan_reduction(4, {{0, 2}}, always));
  EXPECT_FALSE(plan_reduction(4, {{2, 4}}, always));
  EXPECT_FALSE(plan_reduction(4, {{0, 1}, {2, 4}}, always)) << "slice 1";
  EXPECT_FALSE(plan_reduction(4, {{0, 2}, {2, 3}}, always)) << "slice 3";
}

TEST(canonical_tree, there_is_no_plan_without_slices) {
  EXPECT_FALSE(plan_reduction(0, {}, always));
  EXPECT_FALSE(plan_reduction(4, {}, [](size_t) { return false; }));
}

TEST(canonical_tree, there_is_no_plan_for_what_is_no_ordered_set_of_disjoint_nodes) {
  const auto first_half = [](size_t i) { return i < 2; };
  EXPECT_FALSE(plan_reduction(4, {{0, 1}, {1, 3}, {3, 4}}, always)) << "no node";
  EXPECT_FALSE(plan_reduction(4, {{2, 4}, {0, 2}}, always)) << "not in order";
  EXPECT_FALSE(plan_reduction(4, {{0, 2}, {0, 1}}, first_half)) << "not disjoint";
  EXPECT_FALSE(plan_reduction(4, {{0, 4}, {0, 4}}, always)) << "twice";
  EXPECT_FALSE(plan_reduction(4, {{0, 4}, {4, 5}}, always)) << "beyond the last slice";
}

TEST(canonical_tree, a_plan_is_evaluated_left_operand_first) {
  const std::vector<traced> inputs{{"a"}, {"b"}, {"c"}, {"d"}};
  EXPECT_EQ(evaluate_plan({{0, 1, add, 2, 3, add, add}}, inputs).text, "((a+b)+(c+d))");
  EXPECT_EQ(evaluate_plan({{2, 0, add, 1, add}}, inputs).text, "((c+a)+b)");
  EXPECT_EQ(evaluate_plan({{1}}, inputs).text, "b");
}

TEST(canonical_tree, the_tree_is_that_of_the_accumulator) {
  for (size_t count = 1; count <= 33; ++count) {
    tree_accumulator<traced> sums;
    for (size_t i = 0; i < count; ++i)
      sums.push({std::to_string(i)});
    EXPECT_EQ(sums.total(), sum_along_tree(0, count, always));
  }
}

TEST(canonical_tree, owners_of_any_slices_lead_to_the_same_additions) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random{seed};
    const size_t count = 1 + random() % 20;
    std::vector<bool> has_rows(count, true);
    if (seed % 2 == 1)
      for (size_t i = 0; i < count; ++i)
        has_rows[i] = random() % 3 != 0;
    has_rows[random() % count] = true;
    const auto exists = [&](size_t i) { return bool{has_rows[i]}; };
    std::vector<tree_node> held;
    std::vector<traced> inputs;
    for (size_t begin = 0; begin < count;) {
      const size_t end = begin + 1 + random() % (count - begin);
      for (const auto& node : largest_nodes(count, {begin, end})) {
        const auto sum = sum_along_tree(node.begin, node.end, exists);
        if (sum.text.empty())
          continue; // without rows: never sent
        held.push_back(node);
        inputs.push_back(sum);
      }
      begin = end;
    }
    const auto plan = plan_reduction(count, held, exists);
    ASSERT_TRUE(plan) << "seed " << seed;
    ASSERT_EQ(evaluate_plan(*plan, inputs), sum_along_tree(0, count, exists)) << "seed " << seed;
    const auto lost = static_cast<std::ptrdiff_t>(random() % held.size());
    held.erase(held.begin() + lost);
    ASSERT_FALSE(plan_reduction(count, held, exists)) << "seed " << seed;
  }
}

} // namespace
} // namespace troupe::canonical_tree_test
