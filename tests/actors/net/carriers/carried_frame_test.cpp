#include "actors/net/carriers/carried_frame.hpp"

#include <gtest/gtest.h>

namespace troupe::carried_frame_test {

namespace {

carried_frame some_frame() {
  carried_frame x;
  x.kind = frame_kind::slot;
  x.piece.of = {tensor_kind::result, 1ULL << 60, 22, {3, 7}, 5};
  x.piece.first_element = 1ULL << 40;
  x.piece.note = {{1, 2, 3, 4}, {5, UINT64_MAX}};
  x.piece.stamp = {77, 1ULL << 50};
  x.count = piece_elements_max;
  x.place = {71, UINT32_MAX};
  x.checksum = 0x0123'4567'89ab'cdef;
  return x;
}

TEST(carried_frame, reads_what_was_written) {
  const auto frame = some_frame();
  EXPECT_EQ(read_frame(write_frame(frame)), frame);

  carried_frame stamp;
  stamp.kind = frame_kind::stamp;
  stamp.piece.stamp = {1, 2};
  EXPECT_EQ(read_frame(write_frame(stamp)), stamp);
  stamp.kind = frame_kind::credit;
  EXPECT_EQ(read_frame(write_frame(stamp)), stamp);

  auto narrow = some_frame();
  narrow.kind = frame_kind::narrow;
  ASSERT_EQ(read_frame(write_frame(narrow)), narrow);
  EXPECT_EQ(read_frame(write_frame(narrow))->format(), number_format::bf16);
  EXPECT_EQ(read_frame(write_frame(frame))->format(), number_format::float32);
}

TEST(carried_frame, a_head_with_any_bit_turned_over_is_none) {
  const auto head = write_frame(some_frame());
  for (size_t bit = 0; bit < frame_head_bytes * 8; ++bit) {
    auto damaged = head;
    damaged[bit / 64] ^= uint64_t{1} << bit % 64;
    ASSERT_FALSE(read_frame(damaged)) << "bit " << bit;
  }
}

// Who writes so has no damaged wire: another mind.
TEST(carried_frame, refuses_what_no_frame_says) {
  auto frame = some_frame();
  frame.count = piece_elements_max + 1;
  EXPECT_FALSE(read_frame(write_frame(frame)));
  frame.count = 0;
  EXPECT_FALSE(read_frame(write_frame(frame)));
  frame = some_frame();
  frame.kind = frame_kind::stamp; // with values
  EXPECT_FALSE(read_frame(write_frame(frame)));
  frame.kind = static_cast<frame_kind>(5);
  EXPECT_FALSE(read_frame(write_frame(frame)));
  frame = some_frame();
  frame.piece.of.kind = static_cast<tensor_kind>(tensor_kind_count);
  EXPECT_FALSE(read_frame(write_frame(frame)));
}

} // namespace

} // namespace troupe::carried_frame_test
