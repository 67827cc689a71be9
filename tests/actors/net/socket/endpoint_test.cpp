#include "actors/net/socket/channel.hpp"
#include "actors/net/socket/endpoint.hpp"
#include "data/text/failure.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace troupe::endpoint_test {

namespace {

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

} // namespace troupe::endpoint_test
