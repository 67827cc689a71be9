#include "troupe/actors/director/state_collector.hpp"
#include "troupe/tests/support/payloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe {

namespace {

using ranges = std::vector<index_range>;

constexpr size_t element_count = 10;

const_buffer counted() {
  const buffer result{element_count};
  std::iota(result.values().begin(), result.values().end(), 0.0f);
  return result;
}

/// Of version 5.
state_piece piece_of(const const_buffer& storage, uint64_t slot, size_t first, size_t size) {
  return {1, 5, slot, first, payload{storage, first, size}};
}

bool equal(const const_buffer& a, const const_buffer& b) {
  return std::ranges::equal(a.values(), b.values());
}

} // namespace

TEST(state_collector, pieces_of_one_buffer_are_that_buffer) {
  const auto storage = counted();
  state_collector state{5, element_count, 0};
  EXPECT_TRUE(state.offer(piece_of(storage, 0, 8, 2)));
  EXPECT_FALSE(state.is_whole());
  EXPECT_EQ(state.missing(), (ranges{{0, 8}}));
  EXPECT_TRUE(state.offer(piece_of(storage, 0, 0, 8)));
  ASSERT_TRUE(state.is_whole());
  EXPECT_TRUE(state.tensor(0).same_storage(storage));
}

TEST(state_collector, pieces_from_elsewhere_are_put_in_their_places) {
  const auto storage = counted();
  for (const bool first_is_here : {false, true}) {
    state_collector state{5, element_count, 0};
    const auto first = piece_of(storage, 0, 0, 8);
    EXPECT_TRUE(state.offer(first_is_here ? first : test::over_a_wire(first)));
    EXPECT_TRUE(state.offer(test::over_a_wire(piece_of(storage, 0, 8, 2))));
    ASSERT_TRUE(state.is_whole());
    EXPECT_FALSE(state.tensor(0).same_storage(storage));
    EXPECT_TRUE(equal(state.tensor(0), storage));
  }
}

TEST(state_collector, a_buffer_at_its_place_after_pieces_from_elsewhere_is_copied) {
  const auto storage = counted();
  state_collector state{5, element_count, 0};
  state.offer(test::over_a_wire(piece_of(storage, 0, 0, 8)));
  state.offer(piece_of(storage, 0, 8, 2));
  EXPECT_FALSE(state.tensor(0).same_storage(storage));
  EXPECT_TRUE(equal(state.tensor(0), storage));
}

TEST(state_collector, pieces_at_other_places_of_a_buffer_are_put_in_theirs) {
  const buffer turned{element_count}; // the last two first
  std::ranges::copy(std::vector<float>{8, 9, 0, 1, 2, 3, 4, 5, 6, 7}, turned.values().begin());
  state_collector state{5, element_count, 0};
  state.offer({1, 5, 0, 0, payload{turned, 2, 8}});
  state.offer({1, 5, 0, 8, payload{turned, 0, 2}});
  ASSERT_TRUE(state.is_whole());
  EXPECT_TRUE(equal(state.tensor(0), counted()));
}

TEST(state_collector, every_slot_is_a_tensor_of_its_own) {
  const auto storage = counted();
  state_collector state{5, element_count, 2};
  EXPECT_EQ(state.tensor_count(), 3u);
  state.offer(piece_of(storage, 0, 0, 10));
  state.offer({1, 5, 1, 0, test::counting_from(20, 10)});
  state.offer({1, 5, 2, 0, test::counting_from(40, 6)});
  EXPECT_EQ(state.missing(), (ranges{{6, 10}})) << "in some slot";
  state.offer({1, 5, 2, 6, test::counting_from(46, 4)});
  ASSERT_TRUE(state.is_whole());
  EXPECT_EQ(state.tensor(1).values()[3], 23);
  EXPECT_EQ(state.tensor(2).values()[9], 49);
}

TEST(state_collector, what_came_already_tells_nothing_new) {
  const auto storage = counted();
  state_collector state{5, element_count, 0};
  state.offer(piece_of(storage, 0, 2, 6));
  EXPECT_FALSE(state.offer(piece_of(storage, 0, 3, 2)));
  EXPECT_TRUE(state.offer(piece_of(storage, 0, 0, 4))) << "half of it is new";
  EXPECT_EQ(state.missing(), (ranges{{8, 10}}));
}

TEST(state_collector, damaged_pieces_and_those_of_something_else_are_ignored) {
  const auto storage = counted();
  state_collector state{5, element_count, 1};
  EXPECT_FALSE(state.offer(test::over_a_wire(piece_of(storage, 0, 0, 8), 1)));
  EXPECT_FALSE(state.offer({1, 4, 0, 0, test::counting_from(0, 4)})) << "of another version";
  EXPECT_FALSE(state.offer({1, 5, 2, 0, test::counting_from(0, 4)})) << "of no slot";
  EXPECT_FALSE(state.offer({1, 5, 0, 8, test::counting_from(0, 4)})) << "beyond the end";
  EXPECT_FALSE(state.offer({1, 5, 0, ~uint64_t{0}, test::counting_from(0, 4)}));
  EXPECT_FALSE(state.offer({1, 5, 0, 3, {}})) << "empty";
  EXPECT_EQ(state.missing(), (ranges{{0, 10}}));
}

} // namespace troupe
