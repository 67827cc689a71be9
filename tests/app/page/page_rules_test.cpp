#include "troupe/app/page/page_rules.hpp"

#include <gtest/gtest.h>

namespace troupe::page_rules_test {

namespace {

page_request asked_at(const std::string& host) {
  page_request result;
  result.host = host;
  return result;
}

unsigned refusal_of_host(const std::string& host, const page_rules& rules) {
  return page_refusal_of(asked_at(host), rules, false);
}

unsigned refusal_of_token(const std::string& authorization, const page_rules& rules) {
  auto request = asked_at("127.0.0.1:7465");
  request.authorization = authorization;
  return page_refusal_of(request, rules, false);
}

} // namespace

TEST(page_rules, a_name_that_somebody_looked_up_is_refused) {
  const page_rules rules{7465};
  for (const char* host : {"127.0.0.1:7465", "localhost:7465", "[::1]:7465"})
    EXPECT_EQ(refusal_of_host(host, rules), 0u) << host;
  for (const char* host :
       {"", "evil.example:7465", "127.0.0.1.nip.io:7465", "localhost", "127.0.0.1", "localhost:80",
        "127.0.0.1:7465:7465", "localhost.evil.example:7465", "[::1]x:7465"})
    EXPECT_EQ(refusal_of_host(host, rules), 421u) << host;
}

TEST(page_rules, a_name_that_the_server_was_given_is_its_own) {
  const page_rules rules{443, true, {"trainer.example"}};
  EXPECT_EQ(refusal_of_host("trainer.example:443", rules), 0u);
  EXPECT_EQ(refusal_of_host("trainer.example", rules), 0u) << "443 is where https is";
  EXPECT_EQ(refusal_of_host("evil.trainer.example", rules), 421u);
  EXPECT_EQ(refusal_of_host("127.0.0.1", page_rules{443}), 421u) << "and http is not";
}

TEST(page_rules, another_site_is_refused) {
  const page_rules rules{7465};
  auto request = asked_at("127.0.0.1:7465");
  for (const char* site : {"cross-site", "same-site"}) { // the latter: another port of this machine
    request.fetch_site = site;
    EXPECT_EQ(page_refusal_of(request, rules, true), 403u) << site;
  }
  request.fetch_site = "same-origin";
  EXPECT_EQ(page_refusal_of(request, rules, true), 0u);
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1:7465"}) {
    request.origin = origin;
    EXPECT_EQ(page_refusal_of(request, rules, true), 403u) << origin;
  }
  request.origin = "http://127.0.0.1:7465";
  EXPECT_EQ(page_refusal_of(request, rules, true), 0u);
  EXPECT_EQ(page_refusal_of(request, page_rules{7465, true}, true), 403u) << "it is https there";
}

TEST(page_rules, only_the_whole_token_opens) {
  const page_rules rules{7465, false, {}, "0123abcd"};
  for (const char* given : {"Bearer 0123abcd", "bearer 0123abcd", "BEARER 0123abcd"})
    EXPECT_EQ(refusal_of_token(given, rules), 0u) << given;
  for (const char* given :
       {"", "0123abcd", "Bearer", "Bearer ", "Bearer 0123abc", "Bearer 0123abcd ",
        "Bearer  0123abcd", "Bearer 0123ABCD", "Bearer 1123abcd", "Bearer 0123abce",
        "Basic 0123abcd", "Bearer0123abcd", "Bearer\t0123abcd"})
    EXPECT_EQ(refusal_of_token(given, rules), 401u) << given;
  EXPECT_EQ(page_refusal_of(asked_at("127.0.0.1:7465"), rules, true), 0u);
  EXPECT_EQ(refusal_of_token("", page_rules{7465}), 0u) << "nobody is asked for one";
  EXPECT_EQ(page_refusal_of(asked_at("evil.example:7465"), rules, true), 421u)
    << "the token is no excuse for a name";
}

TEST(page_rules, secrets_are_equal_when_each_byte_is) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret("ab", "ab"));
  for (const auto* other : {"", "a", "abc", "bb", "aa"})
    EXPECT_FALSE(is_same_secret("ab", other)) << other;
}

} // namespace troupe::page_rules_test
