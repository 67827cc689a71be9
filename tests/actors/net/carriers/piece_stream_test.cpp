#include "actors/net/carriers/piece_stream.hpp"

#include "models/base/copy_values.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::piece_stream_test {
namespace {

tensor_piece piece_of(uint64_t key, size_t count, float first) {
  const buffer storage{count};
  for (auto& x : storage.values())
    x = first++;
  tensor_piece result;
  result.of = {tensor_kind::gradient, 1, key, {0, 2}, 0};
  result.first_element = 10 * key;
  result.values = {storage, 0, count};
  result.stamp = {9, key};
  return result;
}

/// Two streams that are joined, and the plain ends of what joins them.
struct joined {
  explicit joined(bool with_slots) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    const int small = 4096; // so that pieces are written in parts
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    std::shared_ptr<shared_slots> here, there;
    if (with_slots) {
      owned_socket a, b;
      auto mine = slot_memory::make(a);
      auto theirs = slot_memory::make(b);
      there = std::make_shared<shared_slots>(std::move(theirs), slot_memory::map(a));
      here = std::make_shared<shared_slots>(std::move(mine), slot_memory::map(b));
    }
    from = std::make_unique<piece_stream>(channel{owned_socket{ends[0]}}, std::move(here));
    to = std::make_unique<piece_stream>(channel{owned_socket{ends[1]}}, std::move(there));
  }

  /// Both go on until nothing moves any more; what has come.
  std::vector<carried_frame> carry() {
    std::vector<carried_frame> result;
    for (size_t before = 1; before != 0;) {
      before = 0;
      EXPECT_TRUE(from->flush());
      EXPECT_TRUE(to->receive([&](carried_frame&& x) {
        ++before;
        result.push_back(std::move(x));
      }));
      before += from->is_waiting() ? 1 : 0;
    }
    return result;
  }

  std::unique_ptr<piece_stream> from;
  std::unique_ptr<piece_stream> to;
};

class piece_streams : public testing::TestWithParam<bool> {};

TEST_P(piece_streams, carry_pieces_and_stamps_in_order) {
  joined both{GetParam()};
  // More than there are slots, so that some go the other way.
  std::vector<tensor_piece> sent;
  for (uint64_t k = 0; k < slot_count + 20; ++k) {
    sent.push_back(piece_of(k, k % 7 == 0 ? piece_elements_max : 1 + 97 * k, float(k)));
    ASSERT_TRUE(both.from->put(sent.back()));
  }
  both.from->put(position_word::stamp, {9, 1234});
  both.from->put(position_word::credit, {8, 4321});
  const auto came = both.carry();
  ASSERT_EQ(came.size(), sent.size() + 2);
  bool some_in_slots = false;
  for (size_t k = 0; k < sent.size(); ++k) {
    EXPECT_EQ(came[k].piece, sent[k]);
    EXPECT_TRUE(came[k].piece.values.intact());
    EXPECT_TRUE(came[k].piece.values.received_checksum());
    some_in_slots = some_in_slots || came[k].kind == frame_kind::slot;
  }
  EXPECT_EQ(some_in_slots, GetParam());
  EXPECT_EQ(came[sent.size()].kind, frame_kind::stamp);
  EXPECT_EQ(came[sent.size()].piece.stamp, (link_position{9, 1234}));
  EXPECT_EQ(came.back().kind, frame_kind::credit);
  EXPECT_EQ(came.back().piece.stamp, (link_position{8, 4321}));
}

// Half the bytes, where they go by the connection; their checksum is that of the values all the same.
TEST_P(piece_streams, carry_values_of_a_narrow_format) {
  joined both{GetParam()};
  std::vector<tensor_piece> sent;
  for (uint64_t k = 0; k < slot_count + 9; ++k) {
    auto piece = piece_of(k, k % 3 == 0 ? piece_elements_max : 1 + k, 0.5f + float(k));
    const buffer own = buffer{piece.values.size()};
    copy_values(piece.values.values(), own.values().begin());
    round_to(number_format::bf16, own.values());
    piece.values = float_view{own, 0, own.size()}.with_format(number_format::bf16);
    sent.push_back(piece);
    ASSERT_TRUE(both.from->put(sent.back()));
  }
  const auto came = both.carry();
  ASSERT_EQ(came.size(), sent.size());
  for (size_t k = 0; k < sent.size(); ++k) {
    EXPECT_EQ(came[k].piece, sent[k]);
    EXPECT_TRUE(came[k].piece.values.intact());
    EXPECT_EQ(came[k].kind, GetParam() && k < slot_count ? frame_kind::slot : frame_kind::narrow);
  }
}

TEST_P(piece_streams, slots_come_back) {
  joined both{GetParam()};
  for (uint64_t k = 0; k < 4 * slot_count; ++k) {
    ASSERT_TRUE(both.from->put(piece_of(k, 100, 1)));
    const auto came = both.carry();
    ASSERT_EQ(came.size(), 1u);
    EXPECT_EQ(came[0].kind == frame_kind::slot, GetParam());
  }
}

// Whoever keeps a piece keeps its slot: others take the long way, and none is written over.
TEST_P(piece_streams, leave_alone_what_is_still_looked_at) {
  joined both{GetParam()};
  std::vector<carried_frame> kept;
  for (uint64_t k = 0; k < 2 * slot_count; ++k) {
    ASSERT_TRUE(both.from->put(piece_of(k, 50, static_cast<float>(k))));
    for (auto& x : both.carry())
      kept.push_back(std::move(x));
  }
  ASSERT_EQ(kept.size(), 2 * slot_count);
  for (uint64_t k = 0; k < kept.size(); ++k)
    EXPECT_EQ(kept[k].piece, piece_of(k, 50, static_cast<float>(k)));
  // Streams may go before what they brought.
  both.from.reset();
  both.to.reset();
  EXPECT_EQ(kept[3].piece, piece_of(3, 50, 3));
}

TEST_P(piece_streams, take_no_piece_that_no_frame_is_for) {
  joined both{GetParam()};
  EXPECT_FALSE(both.from->put(piece_of(1, 0, 0)));
  EXPECT_FALSE(both.from->put(piece_of(1, piece_elements_max + 1, 0)));
  EXPECT_FALSE(both.from->is_waiting());
}

TEST_P(piece_streams, end_when_the_other_side_does) {
  joined both{GetParam()};
  both.from.reset();
  EXPECT_FALSE(both.to->receive([](carried_frame&&) { FAIL(); }));
  both.to->put(piece_of(1, 5, 0));
  EXPECT_FALSE(both.to->flush());
}

INSTANTIATE_TEST_SUITE_P(with_and_without_slots, piece_streams, testing::Bool());

/// One end of a stream, and the bare socket at the other.
struct half {
  half() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    bare = owned_socket{ends[0]};
    stream = std::make_unique<piece_stream>(channel{owned_socket{ends[1]}});
  }
  void say(const void* bytes, size_t size) {
    ASSERT_EQ(::write(bare.get(), bytes, size), static_cast<ssize_t>(size));
  }
  owned_socket bare;
  std::unique_ptr<piece_stream> stream;
};

frame_head head_of(const tensor_piece& piece, frame_kind kind) {
  carried_frame frame;
  frame.kind = kind;
  frame.piece = piece;
  frame.piece.values = {};
  frame.count = piece.values.size();
  return write_frame(frame);
}

TEST(piece_stream, ends_with_a_head_that_is_none) {
  half x;
  auto head = head_of(piece_of(1, 4, 1), frame_kind::piece);
  head[3] ^= 1;
  x.say(head.data(), sizeof(head));
  EXPECT_FALSE(x.stream->receive([](carried_frame&&) { FAIL(); }));
}

TEST(piece_stream, ends_with_a_place_that_nobody_has) {
  half x;
  const auto head = head_of(piece_of(1, 4, 1), frame_kind::slot);
  x.say(head.data(), sizeof(head));
  EXPECT_FALSE(x.stream->receive([](carried_frame&&) { FAIL(); }));
}

// They are the exchange's to refuse, and to ask for again.
TEST(piece_stream, hands_on_values_that_are_damaged_and_goes_on) {
  half x;
  const auto piece = piece_of(1, 4, 1);
  const auto head = head_of(piece, frame_kind::piece); // without their checksum
  x.say(head.data(), sizeof(head));
  x.say(piece.values.values().data(), 16);
  x.say(head.data(), sizeof(head));
  std::vector<carried_frame> came;
  EXPECT_TRUE(x.stream->receive([&](carried_frame&& frame) { came.push_back(std::move(frame)); }));
  ASSERT_EQ(came.size(), 1u);
  EXPECT_FALSE(came[0].piece.values.intact());
  x.say(piece.values.values().data(), 16);
  EXPECT_TRUE(x.stream->receive([&](carried_frame&& frame) { came.push_back(std::move(frame)); }));
  EXPECT_EQ(came.size(), 2u);
}

// Byte by byte: wherever a read ends.
TEST(piece_stream, reads_what_comes_in_crumbs) {
  half x;
  const auto piece = piece_of(1, 9, 1);
  const auto head = head_of(piece, frame_kind::piece);
  const auto values = std::as_bytes(piece.values.values());
  std::vector<std::byte> bytes(sizeof(head));
  std::memcpy(bytes.data(), head.data(), sizeof(head));
  bytes.insert(bytes.end(), values.begin(), values.end());
  size_t count = 0;
  for (size_t round = 0; round < 3; ++round)
    for (const auto byte : bytes) {
      x.say(&byte, 1);
      ASSERT_TRUE(x.stream->receive([&](carried_frame&& frame) {
        ++count;
        EXPECT_EQ(frame.piece.values, piece.values);
      }));
    }
  EXPECT_EQ(count, 3u);
}

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
} // namespace troupe::piece_stream_test
