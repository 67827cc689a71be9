// What a node sends of the gradients of its replicas, of which it may have two.

#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe::node_sums_test {
namespace {

using namespace test;
using ranges = std::vector<index_range>;

constexpr size_t here = played_node::here_count;
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

/// What a replica here made of slices 0 and 1.
contribution work_here(uint64_t step) {
  return {step, {0, 2}, 0, test::counting_from(0, all), {1, 2, 0, 0}, 0, 1};
}

/// What has gone to the process there.
std::vector<tensor_piece> sent_by(const played_node& run) {
  return pieces_of(run.there, tensor_kind::gradient);
}

TEST(node_sums, a_gradient_of_another_shape_goes_nowhere_and_is_named) {
  node_at_start run;
  auto work = work_here(0);
  work.gradient_sum = {work.gradient_sum.storage(), 0, work.gradient_sum.values().size() - 1};
  run.tell(work);
  EXPECT_TRUE(sent_by(run).empty());
  ASSERT_EQ(run.director.not_finite.size(), 1u);
  EXPECT_EQ(run.director.not_finite[0].problem, step_problem::malformed);
}

TEST(node_sums, gradients_of_replicas_here_go_where_their_shard_is_and_are_kept_for_who_asks) {
  node_at_start run;
  run.tell(work_here(0));
  EXPECT_EQ(sent_by(run).size(), 2u);
  EXPECT_EQ(test::joined(sent_by(run)), counted(here, all - here));
  EXPECT_EQ(sent_by(run)[0].note, played_node::note_of({1, 2, 0, 0}, 0));
  auto question = test::asking(played_node::from_there(), tensor_kind::gradient, 0);
  question.what.elements = {{here, all}};
  run.acknowledge_there();
  run.tell(question);
  EXPECT_EQ(sent_by(run).size(), 4u);
  run.acknowledge_there();
  question.what.of.node = {2, 4};
  run.tell(question);
  EXPECT_EQ(sent_by(run).size(), 4u) << "nobody here has these";
  run.give_version(1);
  run.tell(work_here(0));
  EXPECT_EQ(sent_by(run).size(), 4u) << "of a step that is over";
}

TEST(node_sums, two_replicas_cost_the_wire_one_gradient) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(work_of(1, 1, 100));
  EXPECT_TRUE(run.replica.summations.empty());
  run.tell(work_of(0, 0, 0));
  EXPECT_TRUE(sent_by(run).empty());
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
  ASSERT_EQ(sent_by(run).size(), 2u) << "two pieces of the span there";
  EXPECT_EQ(sent_by(run)[0].of.node, (tree_node{0, 2}));
  auto question = test::asking(played_node::from_there(), tensor_kind::gradient, 0);
  question.what.elements = {{here, all}};
  run.tell(question);
  EXPECT_EQ(sent_by(run).size(), 2u) << "under way still";
}

TEST(node_sums, a_part_whose_neighbour_has_moved_goes_alone) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(work_of(0, 0, 0));
  auto moved = two_replicas_here(2);
  moved.replicas = {{0, 0, {0, 1}}, {0, 1, {1, 1}}, {1, 0, {1, 4}}};
  run.tell(moved);
  EXPECT_EQ(sent_by(run).size(), 2u);
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

/// Values [begin, end) of a gradient, while others are being computed in the same memory.
contribution begun(const contribution& whole, size_t begin, size_t end) {
  auto result = whole;
  result.first_element = begin;
  result.gradient_sum = payload{result.gradient_sum.storage(), begin, end - begin};
  result.is_begun = true;
  return result;
}

/// Slice 0's gradient is this process's only one.
void begin_with_one_slice(played_node& run) {
  auto news = played_node::both(1, 1);
  news.replicas = {{0, 0, {0, 1}}, {1, 0, {1, 4}}};
  run.tell(news);
  run.give_version(0);
}

ranges elements_of(const std::vector<tensor_piece>& pieces) {
  ranges result;
  for (const auto& piece : pieces)
    result.push_back({piece.first_element, piece.first_element + piece.values.size()});
  return result;
}

TEST(node_sums, each_piece_says_how_long_its_replica_has_computed_by_then) {
  using std::chrono::nanoseconds;
  auto whole = work_of(0, 0, 0);
  played_node run;
  begin_with_one_slice(run);
  for (size_t i = 1; i <= 2; ++i) {
    auto news = begun(whole, here + i, here + i + 1);
    news.computed = nanoseconds{static_cast<int64_t>(10 * i)};
    run.tell(news);
  }
  whole.computed = nanoseconds{50};
  run.tell(whole);
  const auto sent = sent_by(run);
  ASSERT_GE(sent.size(), 3u);
  EXPECT_EQ(sent[0].note.remarks[1], 10u);
  EXPECT_EQ(sent[1].note.remarks[1], 20u);
  EXPECT_EQ(sent[2].note.remarks[1], 50u);
}

TEST(node_sums, what_is_computed_leaves_at_once_and_only_once) {
  const auto whole = work_of(0, 0, 0);
  played_node run;
  begin_with_one_slice(run);
  run.tell(begun(whole, 0, here + 1));
  ASSERT_EQ(elements_of(sent_by(run)), (ranges{{here, here + 1}}));
  EXPECT_EQ(sent_by(run)[0].note, played_node::note_of(whole.sums, 0));
  EXPECT_EQ(sent_by(run)[0].values.values()[0], static_cast<float>(here));
  run.tell(begun(whole, 0, here + 1));
  EXPECT_EQ(sent_by(run).size(), 1u) << "again";
  run.tell(whole);
  const auto middle = here + 1 + played_node::piece_elements;
  EXPECT_EQ(elements_of(sent_by(run)),
            (ranges{{here, here + 1}, {here + 1, middle}, {middle, all}}));
}

TEST(node_sums, unfinished_values_are_not_for_asking) {
  played_node run;
  begin_with_one_slice(run);
  run.tell(begun(work_of(0, 0, 0), here, here + 1));
  run.acknowledge_there();
  run.tell(test::asking(played_node::from_there(), tensor_kind::gradient, 0));
  EXPECT_EQ(elements_of(sent_by(run)), (ranges{{here, here + 1}, {here, here + 1}}));
}

TEST(node_sums, what_is_to_be_added_waits_for_the_whole) {
  played_node run{0, link_credit_bytes, 2};
  begin(run);
  run.tell(begun(work_of(0, 0, 0), 0, all));
  EXPECT_TRUE(sent_by(run).empty());
}

} // namespace
} // namespace troupe::node_sums_test
