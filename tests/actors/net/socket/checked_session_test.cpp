// Records on a plain socket: all that is written arrives as it was, or the connection ends.

#include "actors/net/socket/checked_session.hpp"

#include "actors/net/socket/channel.hpp"
#include "actors/net/socket/endpoint.hpp"
#include "data/text/failure.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

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

TEST(checked_session, what_is_written_arrives_in_any_pieces) {
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

TEST(endpoint, has_a_host_and_a_port) {
  EXPECT_EQ(parse_endpoint("localhost:4000"), (endpoint{"localhost", 4000}));
  EXPECT_EQ(parse_endpoint("127.0.0.1:0"), (endpoint{"127.0.0.1", 0}));
  EXPECT_EQ(parse_endpoint("[::1]:65535"), (endpoint{"::1", 65535}));
}

TEST(endpoint, its_text_parses_to_it) {
  for (const auto* text : {"localhost:4000", "[fe80::1%eth0]:1"})
    EXPECT_EQ(to_string(parse_endpoint(text)), text);
}

TEST(endpoint, anything_else_is_refused) {
  for (const auto* text :
       {"", "localhost", "localhost:", ":4000", "localhost:x", "localhost:65536", "localhost:-1",
        "::1:4000", "[::1]", "[::1]4000", "[]:1", "a b:1", "a/b:1", "local\nhost:1", "h: 1"})
    EXPECT_THROW(parse_endpoint(text), failure) << text;
  EXPECT_THROW(parse_endpoint(std::string(300, 'a') + ":1"), failure);
}

TEST(endpoint, numeric_addresses_are_known_at_once) {
  const lookup question{{"127.0.0.1", 4000}};
  ASSERT_TRUE(question.result());
  ASSERT_EQ(question.result()->addresses.size(), 1u);
  EXPECT_EQ(question.result()->addresses[0].text(), "127.0.0.1:4000");
  EXPECT_EQ(resolve({"::1", 80}, milliseconds{0}).addresses.at(0).text(), "[::1]:80");
}

TEST(endpoint, a_name_is_asked_for) {
  const auto found = resolve({"localhost", 4000}, milliseconds{10'000});
  if (found.addresses.empty() && !std::filesystem::exists("/etc/hosts"))
    GTEST_SKIP() << "this machine knows no names";
  ASSERT_FALSE(found.addresses.empty()) << found.problem;
  EXPECT_TRUE(found.addresses.front().is_loopback());
  EXPECT_EQ(found.addresses.front().port(), 4000);
}

TEST(endpoint, a_question_without_an_answer_has_a_problem) {
  const auto found = resolve({"no-such-host.invalid", 4000}, milliseconds{10'000});
  EXPECT_TRUE(found.addresses.empty());
  EXPECT_NE(found.problem.find("no-such-host.invalid"), std::string::npos);
}

TEST(endpoint, loopback_is_told_from_the_rest) {
  const auto is_loopback = [](const std::string& host) {
    return resolve({host, 1}, milliseconds{0}).addresses.at(0).is_loopback();
  };
  for (const auto* host : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const auto* host : {"0.0.0.0", "128.0.0.1", "::", "::2", "::ffff:10.0.0.1", "10.0.0.1"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(socket_address, one_that_the_system_cannot_name_is_unknown) {
  EXPECT_EQ(socket_address{}.host(), "an unknown address");
  EXPECT_EQ(peer_host_of(channel{owned_socket{}}), "an unknown address");
}

} // namespace
} // namespace troupe::checked_session_test
