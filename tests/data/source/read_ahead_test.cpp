// What comes out of a source that is read ahead: its bytes, its end, its exceptions.

#include "data/source/read_ahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace troupe::read_ahead_test {

namespace {

/// Gives `total` bytes, i modulo 251, in pieces of at most `piece`; then throws, or ends.
read_ahead::source bytes_up_to(size_t total, size_t piece, bool throws) {
  return [=, at = size_t{0}](std::span<char> out) mutable {
    size_t count = 0;
    for (; count < std::min(piece, out.size()) && at < total; ++count)
      out[count] = static_cast<char>(at++ % 251);
    if (count == 0 && throws)
      throw std::runtime_error("behind byte " + std::to_string(at));
    return count;
  };
}

/// Reads everything, `piece` bytes at a time, and checks it; returns how many bytes there were.
size_t read_all(read_ahead& source, size_t piece) {
  std::vector<char> out(piece);
  size_t total = 0;
  while (const auto count = source.read(out))
    for (size_t i = 0; i < count; ++i, ++total)
      if (out[i] != static_cast<char>(total % 251))
        throw std::logic_error("wrong byte " + std::to_string(total));
  return total;
}

constexpr size_t whole_blocks = 3 * read_ahead::block_bytes * read_ahead::block_count;

} // namespace

TEST(read_ahead, gives_the_bytes_of_the_source_in_order) {
  for (size_t total :
       {size_t{0}, size_t{1}, read_ahead::block_bytes, whole_blocks, whole_blocks + 7})
    for (size_t piece : {1000, 1 << 20})
      for (size_t room : {999, 1 << 19}) {
        read_ahead source(bytes_up_to(total, piece, false));
        EXPECT_EQ(read_all(source, room), total) << piece << " " << room;
        char one;
        EXPECT_EQ(source.read({&one, 1}), 0u) << "the end stays the end";
      }
}

TEST(read_ahead, an_exception_comes_behind_the_bytes_before_it) {
  for (size_t total : {size_t{0}, size_t{1}, whole_blocks, whole_blocks + 7}) {
    read_ahead source(bytes_up_to(total, 1 << 20, true));
    std::vector<char> out(1000);
    size_t count = 0;
    for (int again = 0; again < 2; ++again) // it stays, too
      try {
        while (const auto more = source.read(out))
          count += more;
        ADD_FAILURE() << "ended";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "behind byte " + std::to_string(total));
      }
    EXPECT_EQ(count, total);
  }
}

TEST(read_ahead, waits_with_a_bounded_number_of_blocks) {
  std::atomic<size_t> calls = 0;
  {
    read_ahead source([&](std::span<char> out) {
      ++calls;
      return out.size();
    });
    std::vector<char> out(read_ahead::block_bytes);
    for (size_t i = 1; i <= 20; ++i) {
      EXPECT_EQ(source.read(out), out.size());
      EXPECT_LE(calls, i + read_ahead::block_count);
    }
  } // ends, though the source never does
  EXPECT_LE(calls, 20 + read_ahead::block_count);
}

// Returning at all is what is asked for: the thread that reads ahead neither hangs nor stays.
TEST(read_ahead, can_end_before_anything_is_read) {
  for (int i = 0; i < 100; ++i)
    read_ahead source(bytes_up_to(whole_blocks, 1 << 20, i % 2 == 0));
}

} // namespace troupe::read_ahead_test
