#include "troupe/actors/node/node_exchange.hpp"
#include "troupe/tests/support/payloads.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe {

namespace {

using ranges = std::vector<index_range>;
using verdict = shard_desk::piece_verdict;
using test::counting_from;

/// Of a shard that owns elements [10, 20) and works on step 3 of steps with four slices.
shard_desk a_desk() {
  const timeline plan{
    .row_count = 64, .batch_size = 8, .slice_count = 4, .epoch_count = 1, .step_limit = {}};
  return {0, 0, {plan, {10, 20}, 3}, {}, {}, {}, {}, {}, {}};
}

/// Elements [first, first + size) of slice 1 of step 3: each value is its element's number.
gradient_piece piece(uint64_t first, size_t size) {
  return {1, 3, {1, 2}, {0.5, 2, 1, 0}, first, counting_from(static_cast<float>(first), size), 7};
}

/// Spans [0, 6) and [10, 14) of version 5, with one slot.
restoring_state restoring() {
  return {5, {{0, 6}, {10, 14}}, 1};
}

shard_copy copy_of(uint64_t version) {
  shard_copy result;
  result.version = version;
  return result;
}

std::vector<uint64_t> keys_of(const auto& entries) {
  std::vector<uint64_t> result;
  for (const auto& [key, value] : entries)
    result.push_back(key);
  return result;
}

} // namespace

TEST(node_exchange, ranges_have_a_part_in_common_or_an_empty_one) {
  EXPECT_EQ(common_part({2, 8}, {4, 12}), (index_range{4, 8}));
  EXPECT_EQ(common_part({4, 12}, {2, 8}), (index_range{4, 8}));
  EXPECT_EQ(common_part({2, 8}, {3, 5}), (index_range{3, 5}));
  EXPECT_TRUE(common_part({2, 4}, {4, 8}).empty());
  EXPECT_TRUE(common_part({6, 8}, {2, 4}).empty());
}

TEST(node_exchange, ranges_are_cut_into_pieces_of_a_size_the_last_one_shorter) {
  EXPECT_EQ(cut({3, 10}, 3), (ranges{{3, 6}, {6, 9}, {9, 10}}));
  EXPECT_EQ(cut({3, 9}, 3), (ranges{{3, 6}, {6, 9}}));
  EXPECT_EQ(cut({3, 5}, 100), (ranges{{3, 5}}));
  EXPECT_EQ(cut({3, 3}, 3), ranges{});
}

TEST(shard_desk, puts_pieces_together_in_any_order) {
  const size_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  for (const auto& order : orders) {
    auto desk = a_desk();
    const gradient_piece pieces[] = {piece(10, 4), piece(14, 4), piece(18, 2)};
    EXPECT_FALSE(desk.offer(pieces[order[0]]).whole);
    EXPECT_FALSE(desk.offer(pieces[order[1]]).whole);
    const auto last = desk.offer(pieces[order[2]]);
    EXPECT_EQ(last.verdict, verdict::accepted);
    ASSERT_TRUE(last.whole);
    const contribution expected{3, {1, 2}, 10, counting_from(10, 10), {0.5, 2, 1, 0}, 7, 1};
    EXPECT_EQ(*last.whole, expected);
  }
}

TEST(shard_desk, a_contribution_took_as_long_as_its_latest_piece_says) {
  auto desk = a_desk();
  using std::chrono::nanoseconds;
  gradient_piece pieces[] = {piece(10, 4), piece(14, 4), piece(18, 2)};
  pieces[0].computed = nanoseconds{5};
  pieces[1].computed = nanoseconds{9};
  pieces[2].computed = nanoseconds{7};
  std::optional<contribution> whole;
  for (const auto& one : pieces)
    whole = desk.offer(one).whole;
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->computed, nanoseconds{9});
}

TEST(shard_desk, a_piece_that_is_the_whole_span_is_not_copied) {
  auto desk = a_desk();
  const auto whole = piece(10, 10);
  const auto result = desk.offer(whole);
  ASSERT_TRUE(result.whole);
  EXPECT_TRUE(result.whole->gradient_sum.storage().same_storage(whole.values.storage()));
}

TEST(shard_desk, a_whole_span_after_a_part_of_it_completes_the_contribution) {
  auto desk = a_desk();
  desk.offer(piece(10, 4));
  const auto result = desk.offer(piece(10, 10));
  ASSERT_TRUE(result.whole);
  EXPECT_EQ(test::values_of(result.whole->gradient_sum), test::values_of(counting_from(10, 10)));
}

TEST(shard_desk, equal_pieces_that_come_again_are_ignored) {
  for (const size_t first_size : {4u, 10u}) {
    auto desk = a_desk();
    desk.offer(piece(10, first_size));
    const auto again = desk.offer(piece(11, 3));
    EXPECT_EQ(again.verdict, verdict::ignored);
    EXPECT_FALSE(again.whole);
  }
}

TEST(shard_desk, other_bits_for_known_elements_are_a_conflict) {
  for (const size_t first_size : {4u, 10u}) {
    auto desk = a_desk();
    desk.offer(piece(10, first_size));
    auto other = piece(11, 3);
    other.values = test::payload_of({11, 12, 99});
    EXPECT_EQ(desk.offer(other).verdict, verdict::conflict);
    auto other_sums = piece(11, 3);
    other_sums.sums.loss_sum = 0.25;
    EXPECT_EQ(desk.offer(other_sums).verdict, verdict::conflict);
  }
}

TEST(shard_desk, values_that_are_no_numbers_are_compared_by_their_bits) {
  auto desk = a_desk();
  auto strange = piece(10, 2);
  strange.values = test::payload_of({std::numeric_limits<float>::quiet_NaN(), 0.0f});
  desk.offer(strange);
  EXPECT_EQ(desk.offer(strange).verdict, verdict::ignored);
  strange.values = test::payload_of({std::numeric_limits<float>::quiet_NaN(), -0.0f});
  EXPECT_EQ(desk.offer(strange).verdict, verdict::conflict);
}

TEST(shard_desk, pieces_of_other_steps_nodes_and_spans_are_ignored) {
  auto desk = a_desk();
  auto late = piece(10, 4);
  late.step = 2;
  EXPECT_EQ(desk.offer(late).verdict, verdict::ignored);
  auto strange = piece(10, 4);
  strange.node = {1, 3}; // no node of the tree
  EXPECT_EQ(desk.offer(strange).verdict, verdict::ignored);
  EXPECT_EQ(desk.offer(piece(8, 4)).verdict, verdict::ignored) << "begins before the span";
  EXPECT_EQ(desk.offer(piece(18, 4)).verdict, verdict::ignored) << "ends beyond it";
  EXPECT_TRUE(desk.gradients.empty());
}

TEST(shard_desk, forgets_a_step_that_is_over_and_keeps_two_versions) {
  auto desk = a_desk();
  desk.advance(3, counting_from(0, 10));
  desk.offer(piece(10, 4));
  desk.advance(4, counting_from(1, 10));
  EXPECT_TRUE(desk.gradients.empty());
  EXPECT_EQ(desk.offer(piece(14, 4)).verdict, verdict::ignored);
  EXPECT_EQ(desk.version(), 4u);
  desk.advance(5, counting_from(2, 10));
  EXPECT_EQ(keys_of(desk.versions), (std::vector<uint64_t>{4, 5}));
}

TEST(shard_desk, a_version_that_is_announced_again_costs_no_piece) {
  auto desk = a_desk();
  desk.offer(piece(10, 4));
  desk.advance(3, counting_from(0, 10));
  desk.offer(piece(14, 4));
  EXPECT_TRUE(desk.offer(piece(18, 2)).whole);
}

TEST(shard_desk, keeps_the_last_two_copies) {
  auto desk = a_desk();
  for (const uint64_t version : {3u, 6u, 9u})
    desk.keep_copy(copy_of(version));
  EXPECT_EQ(keys_of(desk.copies), (std::vector<uint64_t>{6, 9}));
}

TEST(restoring_state, is_whole_with_every_slot_and_every_spans_numbers) {
  auto state = restoring();
  buffer parameters{20};
  EXPECT_EQ(state.missing(), (ranges{{0, 6}, {10, 14}}));
  EXPECT_TRUE(state.offer({1, 5, 0, 0, counting_from(0, 20)}, parameters)) << "over both spans";
  EXPECT_TRUE(state.offer({1, 5, 1, 0, counting_from(100, 6)}, parameters));
  EXPECT_TRUE(state.offer({1, 5, 1, 10, counting_from(200, 4)}, parameters));
  EXPECT_FALSE(state.is_whole()) << "without the numbers";
  EXPECT_TRUE(state.offer(shard_numbers{5, 0, {1}, false, {1, 2, 3, 4}}));
  EXPECT_EQ(state.missing(), (ranges{{10, 14}}));
  EXPECT_TRUE(state.offer(shard_numbers{5, 10, {2}, false, {}}));
  EXPECT_TRUE(state.is_whole());
  EXPECT_EQ(parameters.values()[12], 12);
  ASSERT_EQ(state.slots_of(1).size(), 1u);
  EXPECT_EQ(test::values_of(state.slots_of(0)[0]), test::values_of(counting_from(100, 6)));
  EXPECT_EQ(test::values_of(state.slots_of(1)[0]), test::values_of(counting_from(200, 4)));
  EXPECT_EQ(state.numbers_of(0).book, (batch_sums{1, 2, 3, 4}));
  EXPECT_EQ(state.numbers_of(1).numbers, std::vector<double>{2});
}

TEST(restoring_state, a_slot_that_is_missing_somewhere_is_asked_for_there) {
  auto state = restoring();
  buffer parameters{20};
  state.offer({1, 5, 0, 0, counting_from(0, 20)}, parameters);
  state.offer({1, 5, 1, 0, counting_from(0, 4)}, parameters);
  state.offer({1, 5, 1, 10, counting_from(0, 4)}, parameters);
  state.offer(shard_numbers{5, 0, {}, false, {}});
  state.offer(shard_numbers{5, 10, {}, false, {}});
  EXPECT_EQ(state.missing(), (ranges{{4, 6}}));
}

TEST(restoring_state, what_came_already_or_belongs_elsewhere_tells_nothing_new) {
  auto state = restoring();
  buffer parameters{20};
  EXPECT_FALSE(state.offer({1, 4, 0, 0, counting_from(0, 6)}, parameters)) << "another version";
  EXPECT_FALSE(state.offer({1, 5, 2, 0, counting_from(0, 6)}, parameters)) << "no such slot";
  EXPECT_FALSE(state.offer({1, 5, 0, 18, counting_from(0, 6)}, parameters)) << "beyond the model";
  EXPECT_FALSE(state.offer({1, 5, 0, 6, counting_from(0, 4)}, parameters)) << "of no span here";
  EXPECT_FALSE(state.offer({1, 5, 0, 6, {}}, parameters)) << "empty";
  EXPECT_FALSE(state.offer(shard_numbers{4, 0, {}, false, {}}));
  EXPECT_FALSE(state.offer(shard_numbers{5, 6, {}, false, {}}));
  EXPECT_TRUE(state.offer({1, 5, 0, 0, counting_from(0, 6)}, parameters));
  EXPECT_FALSE(state.offer({1, 5, 0, 0, counting_from(0, 6)}, parameters));
  EXPECT_TRUE(state.offer(shard_numbers{5, 0, {}, false, {}}));
  EXPECT_FALSE(state.offer(shard_numbers{5, 0, {}, false, {}}));
}

TEST(restoring_state, a_process_without_spans_waits_for_nothing) {
  const restoring_state state{5, {}, 2};
  EXPECT_TRUE(state.is_whole());
}

} // namespace troupe
