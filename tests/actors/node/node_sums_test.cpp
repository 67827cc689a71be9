// A node with two replicas: what it sends of their gradients.

#include "troupe/tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

using test::played_node;

constexpr size_t all = played_node::parameter_count;
constexpr auto add = reduction_plan::add;

/// Slices 0 and 1 belong to two replicas here.
cluster_view two_replicas_here(uint64_t number = 1) {
  auto result = played_node::both(1, number);
  result.replicas = {{0, 0, {0, 1}}, {0, 1, {1, 2}}, {1, 0, {2, 4}}};
  return result;
}

contribution work_of(size_t slice, uint64_t replica, float from) {
  return {0, {slice, slice + 1}, 0, test::counting_from(from, all), {1, 1, 0, 0}, replica, 1};
}

void begin(played_node& run) {
  run.tell(two_replicas_here());
  run.give_version(0);
}

} // namespace

TEST(node_sums, two_replicas_cost_the_wire_one_gradient) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(work_of(1, 1, 100));
  EXPECT_TRUE(run.replica.summations.empty());
  run.tell(work_of(0, 0, 0));
  EXPECT_TRUE(run.there.gradients.empty());
  ASSERT_EQ(run.replica.summations.size(), 1u);
  const auto& order = run.replica.summations[0];
  EXPECT_EQ(order.node, (tree_node{0, 2}));
  EXPECT_EQ(order.plan, (reduction_plan{{0, 1, add}}));
  ASSERT_EQ(order.parts.size(), 2u);
  EXPECT_EQ(order.parts[0], work_of(0, 0, 0));
  EXPECT_EQ(order.parts[1], work_of(1, 1, 100));
  EXPECT_EQ(order.term, 1u);
  auto sum = work_of(0, 0, 50);
  sum.node = {0, 2};
  run.tell(sum);
  ASSERT_EQ(run.there.gradients.size(), 2u) << "two pieces of the span there";
  EXPECT_EQ(run.there.gradients[0].node, (tree_node{0, 2}));
  auto question = test::asking("there", want_kind::gradients, 0);
  question.elements = {{played_node::here_count, all}};
  run.tell(question);
  EXPECT_EQ(run.there.gradients.size(), 2u) << "under way still";
}

TEST(node_sums, a_part_whose_neighbour_has_moved_goes_alone) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(work_of(0, 0, 0));
  auto moved = two_replicas_here(2);
  moved.replicas = {{0, 0, {0, 1}}, {0, 1, {1, 1}}, {1, 0, {1, 4}}};
  run.tell(moved);
  EXPECT_EQ(run.there.gradients.size(), 2u);
  EXPECT_TRUE(run.replica.summations.empty());
}

TEST(node_sums, what_was_held_in_an_earlier_term_is_gone) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(work_of(0, 0, 0));
  auto later = two_replicas_here();
  later.id.term = 2;
  run.tell(later);
  auto other = work_of(1, 1, 0);
  other.term = 2;
  run.tell(other);
  EXPECT_TRUE(run.replica.summations.empty());
}

// ---- gradients that leave while they are being computed ----

namespace {

/// Values [begin, end) of slice 0's gradient, which is this process's only one.
contribution begun(size_t begin, size_t end) {
  auto result = work_of(0, 0, 0);
  result.first_element = begin;
  result.gradient_sum = payload{result.gradient_sum.storage(), begin, end - begin};
  result.is_begun = true;
  return result;
}

void begin_with_one_slice(played_node& run) {
  auto news = played_node::both(1, 1);
  news.replicas = {{0, 0, {0, 1}}, {1, 0, {1, 4}}};
  run.tell(news);
  run.give_version(0);
}

std::vector<index_range> elements_of(const std::vector<gradient_piece>& pieces) {
  std::vector<index_range> result;
  for (const auto& piece : pieces)
    result.push_back({piece.first_element, piece.first_element + piece.values.values().size()});
  return result;
}

} // namespace

TEST(node_sums, each_piece_says_how_long_its_replica_has_computed_by_then) {
  using std::chrono::nanoseconds;
  constexpr auto first = played_node::here_count;
  played_node run;
  begin_with_one_slice(run);
  for (size_t i = 1; i <= 2; ++i) {
    auto news = begun(first + i, first + i + 1);
    news.computed = nanoseconds{static_cast<int64_t>(10 * i)};
    run.tell(news);
  }
  auto whole = work_of(0, 0, 0);
  whole.computed = nanoseconds{50};
  run.tell(whole);
  ASSERT_GE(run.there.gradients.size(), 3u);
  EXPECT_EQ(run.there.gradients[0].computed, nanoseconds{10});
  EXPECT_EQ(run.there.gradients[1].computed, nanoseconds{20});
  EXPECT_EQ(run.there.gradients[2].computed, nanoseconds{50});
}

TEST(node_sums, what_is_computed_leaves_at_once_and_only_once) {
  constexpr auto first = played_node::here_count; // of the span there
  played_node run;
  begin_with_one_slice(run);
  run.tell(begun(0, first + 1));
  ASSERT_EQ(elements_of(run.there.gradients), (std::vector<index_range>{{first, first + 1}}));
  EXPECT_EQ(run.there.gradients[0].sums, work_of(0, 0, 0).sums);
  EXPECT_EQ(run.there.gradients[0].values.values()[0], static_cast<float>(first));
  run.tell(begun(0, first + 1));
  EXPECT_EQ(run.there.gradients.size(), 1u) << "again";
  run.tell(work_of(0, 0, 0));
  const auto middle = first + 1 + played_node::piece_elements;
  EXPECT_EQ(elements_of(run.there.gradients),
            (std::vector<index_range>{{first, first + 1}, {first + 1, middle}, {middle, all}}));
}

TEST(node_sums, unfinished_values_are_not_for_asking) {
  constexpr auto first = played_node::here_count;
  played_node run;
  begin_with_one_slice(run);
  run.tell(begun(first, first + 1));
  auto question = test::asking("there", want_kind::gradients, 0);
  question.elements = {{first, all}};
  run.tell(question);
  EXPECT_EQ(run.there.gradients.size(), 1u);
}

TEST(node_sums, what_is_to_be_added_waits_for_the_whole) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(begun(0, all));
  EXPECT_TRUE(run.there.gradients.empty());
}

} // namespace troupe
