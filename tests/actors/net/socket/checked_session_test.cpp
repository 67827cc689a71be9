// Records on a plain socket: all that is written arrives as it was, or the connection ends.

#include "actors/net/socket/checked_session.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace troupe::checked_session_test {

namespace {

struct pair_of_sockets {
  pair_of_sockets() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
  ~pair_of_sockets() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2]{};
};

std::string some_bytes(size_t count, uint64_t seed) {
  std::mt19937_64 random{seed};
  std::string result(count, ' ');
  for (auto& letter : result)
    letter = static_cast<char>(random());
  return result;
}

/// What one session says on a wire when it writes these one after the other.
std::string said(const std::vector<std::string>& texts) {
  pair_of_sockets x;
  checked_session from{x.ends[0]};
  for (const auto& text : texts)
    EXPECT_EQ(from.write(text).byte_count, text.size());
  std::string result(1 << 20, ' ');
  result.resize(static_cast<size_t>(recv(x.ends[1], result.data(), result.size(), 0)));
  return result;
}

struct heard {
  std::string text;
  bool is_over = false;
};

/// What a session hears from these bytes on a wire, `onto` at a time.
heard heard_from(const std::string& wire, size_t onto = 7) {
  pair_of_sockets x;
  checked_session to{x.ends[1]};
  EXPECT_EQ(send(x.ends[0], wire.data(), wire.size(), 0), static_cast<ssize_t>(wire.size()));
  heard result;
  std::vector<char> bytes(onto);
  for (int fruitless = 0; fruitless < 10 && !result.is_over;) {
    const auto what = to.read(bytes);
    result.text.append(bytes.data(), what.byte_count);
    result.is_over = what.is_over;
    fruitless = what.byte_count == 0 ? fruitless + 1 : 0;
  }
  return result;
}

TEST(checked_session, what_is_written_arrives_in_any_partitions) {
  std::mt19937_64 random{5};
  const auto text = some_bytes(1'000'000, 1);
  pair_of_sockets x;
  checked_session from{x.ends[0]}, to{x.ends[1]};
  std::string arrived;
  size_t written = 0, fruitless = 0;
  std::vector<char> bytes(200'000);
  while (arrived.size() < text.size() && fruitless < 10'000) {
    // Who could not write all goes on with the rest, as the actor system does.
    const auto rest = std::string_view{text}.substr(written);
    written += from.write(rest.substr(0, written % 3 == 0 ? rest.size() : 100'000)).byte_count;
    const auto what = to.read(std::span{bytes}.first(1 + random() % bytes.size()));
    ASSERT_FALSE(what.is_over) << what.problem;
    fruitless = what.byte_count == 0 ? fruitless + 1 : 0;
    arrived.append(bytes.data(), what.byte_count);
  }
  EXPECT_TRUE(arrived == text);
  EXPECT_FALSE(to.has_pending());
}

TEST(checked_session, what_is_here_already_is_pending) {
  pair_of_sockets x;
  checked_session from{x.ends[0]}, to{x.ends[1]};
  from.write("first");
  from.write("second");
  std::array<char, 3> some{};
  EXPECT_EQ(to.read(some).byte_count, 3u);
  EXPECT_TRUE(to.has_pending()) << "the rest of a record";
  EXPECT_EQ(to.read(some).byte_count, 2u);
  EXPECT_TRUE(to.has_pending()) << "a whole one, read together with the first";
}

TEST(checked_session, a_flipped_bit_anywhere_ends_it) {
  const std::vector<std::string> texts{some_bytes(40, 2), some_bytes(9, 3)};
  const auto wire = said(texts);
  ASSERT_EQ(wire.size(), 49 + 2 * record_header_bytes);
  ASSERT_EQ(heard_from(wire).text, texts[0] + texts[1]);
  for (size_t bit = 0; bit < 8 * wire.size(); ++bit) {
    auto damaged = wire;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    // More comes, as it does from a process that says so once a second.
    const auto found = heard_from(damaged + some_bytes(200'000, 4).substr(0, 70'000));
    EXPECT_TRUE(found.is_over) << bit;
    EXPECT_TRUE(found.text.empty() || found.text == texts[0]) << bit;
  }
}

TEST(checked_session, a_record_that_is_missing_or_comes_again_ends_it) {
  const auto first = said({"one"});
  const auto both = said({"one", "two"});
  EXPECT_TRUE(heard_from(both.substr(first.size())).is_over);
  const auto again = heard_from(first + both);
  EXPECT_TRUE(again.is_over);
  EXPECT_EQ(again.text, "one");
}

TEST(checked_session, the_end_of_the_connection_is_the_end) {
  pair_of_sockets x;
  checked_session from{x.ends[0]}, to{x.ends[1]};
  shutdown(x.ends[0], SHUT_WR);
  std::array<char, 3> some{};
  EXPECT_TRUE(to.read(some).is_over);
  EXPECT_TRUE(from.write("late").is_over);
}

} // namespace

} // namespace troupe::checked_session_test
