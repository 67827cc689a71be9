// Parts in pieces: what goes at once, what waits for a grant, what a member holds for a round that it
// has not called, and pieces that nobody asked for.

#include "tests/support/collective_group.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace troupe::part_pieces_test {
namespace {

using test::collective_group;
using test::view_of;
using enum collective_kind;
using floats = std::vector<float>;

constexpr milliseconds patience{1'000};
constexpr piece_limits limits{2, 1, 3}; // two values a piece, one goes at once, three under way

floats count_up(size_t count, float first) {
  floats result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(first + static_cast<float>(i));
  return result;
}

collective_group two_processes() {
  return collective_group{{2, patience, 0, limits}, true};
}

collective_call sum_of(size_t count, float first, uint64_t round = 0) {
  return {round, all_reduce, 0, view_of(count_up(count, first))};
}

/// A piece of member 1's part of an all-reduce of nine values.
collective_part piece(uint64_t first, size_t count, uint64_t rest) {
  collective_part x{0, 1, all_reduce, 0, collective_stage::scatter, 9, view_of(count_up(count, 0))};
  x.first = first;
  x.rest = rest;
  return x;
}

/// What member 0 says of the round when these pieces come, whether before its call or after it.
std::string problem_with(const std::vector<collective_part>& pieces) {
  auto late = two_processes();
  late.call(0, sum_of(9, 0));
  for (const auto& one : pieces)
    if (!late.ends.contains({0, 0}))
      late.arrive({0, one});
  auto early = two_processes();
  for (const auto& one : pieces)
    early.arrive({0, one});
  early.call(0, sum_of(9, 0));
  EXPECT_EQ(early.end(0).problem, late.end(0).problem);
  return late.end(0).problem;
}

TEST(part_pieces, leave_as_far_as_they_are_granted) {
  departing_parts parts{limits, patience};
  const collective_part whole{
    7, 0, broadcast, 0, collective_stage::scatter, 9, view_of(count_up(9, 0))};
  const auto first = parts.add(3, whole, {});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].to, 3u);
  EXPECT_EQ(test::floats_of(first[0].piece.values), (floats{0, 1}));
  EXPECT_EQ(first[0].piece.first, 0u);
  EXPECT_EQ(first[0].piece.rest, 7u);
  EXPECT_TRUE(parts.on_grant({7, 2, collective_stage::scatter, 9}, {}).empty()) << "of another";
  EXPECT_TRUE(parts.on_grant({7, 3, collective_stage::gather, 9}, {}).empty());
  EXPECT_TRUE(parts.on_grant({6, 3, collective_stage::scatter, 9}, {}).empty());
  EXPECT_TRUE(parts.on_grant({7, 3, collective_stage::scatter, 2}, {}).empty()) << "was sent";
  EXPECT_EQ(parts.on_grant({7, 3, collective_stage::scatter, 6}, {}).size(), 2u);
  const auto last = parts.on_grant({7, 3, collective_stage::scatter, UINT64_MAX}, {});
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(test::floats_of(last[1].piece.values), (floats{8}));
  EXPECT_EQ(last[1].piece.rest, 0u);
  EXPECT_TRUE(parts.empty());
}

TEST(part_pieces, of_a_small_part_are_one_whole) {
  departing_parts parts{limits, patience};
  const auto all = parts.add(1, {0, 0, barrier, 0, collective_stage::gather, 0, {}}, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].piece.is_whole());
  EXPECT_TRUE(parts.empty());
}

TEST(part_pieces, are_dropped_with_their_round_their_member_and_their_time) {
  const collective_part whole{
    7, 0, broadcast, 0, collective_stage::scatter, 9, view_of(count_up(9, 0))};
  departing_parts parts{limits, patience};
  parts.add(1, whole, {});
  parts.drop_round(6);
  parts.drop_member(2);
  parts.on_time(moment{} + patience - milliseconds{1});
  EXPECT_FALSE(parts.empty());
  parts.drop_round(7);
  EXPECT_TRUE(parts.empty());
  parts.add(1, whole, {});
  parts.drop_member(1);
  EXPECT_TRUE(parts.empty());
  parts.add(1, whole, {});
  parts.on_grant({7, 1, collective_stage::scatter, 4}, moment{} + milliseconds{1});
  parts.on_time(moment{} + patience);
  EXPECT_FALSE(parts.empty()) << "it has moved since";
  parts.on_time(moment{} + patience + milliseconds{1});
  EXPECT_TRUE(parts.empty());
}

TEST(part_pieces, that_go_unasked_are_all_that_waits_for_a_late_member) {
  auto group = two_processes();
  group.call(0, sum_of(9, 0));
  group.settle();
  EXPECT_EQ(group.bytes[0], limits.eager_elements() * sizeof(float));
  group.call(1, sum_of(9, 10));
  size_t under_way_max = 0;
  while (!group.bag.empty()) {
    size_t under_way = 0;
    for (const auto& letter : group.bag)
      if (const auto* part = std::get_if<collective_part>(&letter.what); part && letter.to == 1)
        under_way += part->values.size();
    under_way_max = std::max(under_way_max, under_way);
    group.deliver(0);
  }
  EXPECT_LE(under_way_max, limits.window_elements());
  floats expected;
  for (size_t i = 0; i < 9; ++i)
    expected.push_back(10.0f + 2 * static_cast<float>(i));
  EXPECT_EQ(group.values(0), expected);
  EXPECT_EQ(group.values(1), expected);
  EXPECT_EQ(group.bytes[0], 9 * sizeof(float)) << "as in one process";
}

TEST(part_pieces, that_nobody_asked_for_fail_the_round_by_name) {
  const std::string unasked = "member 1 sends what it was not asked for";
  EXPECT_EQ(problem_with({piece(8, 1, 0)}), unasked) << "beyond what is granted";
  EXPECT_EQ(problem_with({piece(1, 2, 6)}), unasked) << "cut elsewhere";
  EXPECT_EQ(problem_with({piece(0, 1, 8)}), unasked) << "cut too short";
  EXPECT_EQ(problem_with({piece(0, 3, 6)}), unasked) << "cut too long";
  EXPECT_EQ(problem_with({piece(8, 0, 1)}), unasked) << "without values";
  EXPECT_EQ(problem_with({piece(uint64_t{1} << 63, 2, (uint64_t{1} << 63) + 7)}), unasked)
    << "places that wrap around to the right size";
}

TEST(part_pieces, of_a_part_of_another_size_fail_the_round_by_name) {
  EXPECT_EQ(problem_with({piece(0, 2, 8)}), "member 1 sends 10 values where 9 belong");
  EXPECT_EQ(problem_with({piece(0, 2, uint64_t{1} << 40)}),
            "member 1 sends 1099511627778 values where 9 belong")
    << "no memory is taken for it";
}

TEST(part_pieces, are_held_for_a_round_not_called_only_as_far_as_they_go_unasked) {
  auto group = two_processes();
  group.arrive({0, piece(0, 2, 7)});
  group.arrive({0, piece(0, 2, 7)});
  group.arrive({0, piece(2, 2, 5)});
  group.call(0, sum_of(9, 0));
  EXPECT_EQ(group.end(0).problem, "member 1 sends what it was not asked for");
}

TEST(part_pieces, of_a_failed_round_go_no_further) {
  auto group = two_processes();
  group.call(0, sum_of(9, 0));
  group.arrive({0, collective_failure{0, 1, "why"}});
  EXPECT_EQ(group.end(0).problem, "why");
  group.arrive({0, collective_grant{0, 1, collective_stage::scatter, 9}});
  EXPECT_EQ(group.bytes[0], limits.eager_elements() * sizeof(float));
}

} // namespace
} // namespace troupe::part_pieces_test
