#include "app/page/page_answer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::page_answer_test {
namespace {

const page_rules rules{7465};

page_request asked(const std::string& path, const std::string& host = "127.0.0.1:7465") {
  page_request result;
  result.path = path;
  result.host = host;
  return result;
}

/// A feed with one status, that came at second 10.
struct some_feed : page_feed {
  explicit some_feed(const std::string& status = R"({"phase":"training","step":3})")
    : page_feed("digits", page_source::live) {
    set_status(status, 10);
  }
};

unsigned status_of(const page_request& x, const page_feed& feed) {
  return static_cast<unsigned>(std::stoi(page_answer(x, feed, rules, 12).substr(9, 3)));
}

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

TEST(page_answer, each_path_has_its_answer_and_no_other_path_has_one) {
  const some_feed feed;
  for (const char* path :
       {"/", "/page.js", "/draw.js", "/page.css", "/dygraph.js", "/api/status", "/api/curves",
        "/api/events", "/api/rounds", "/metrics", "/healthz", "/readyz"})
    EXPECT_EQ(status_of(asked(path), feed), 200u) << path;
  for (const char* path :
       {"", "/../etc/passwd", "/%2e%2e/", "//", "/page.js/", "/api", "/API/status", "/index.html"})
    EXPECT_EQ(status_of(asked(path), feed), 404u) << path;
}

TEST(page_answer, nothing_lets_another_site_read) {
  const auto answer = page_answer(asked("/api/status"), some_feed(), rules, 12);
  EXPECT_NE(answer.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(answer.find("Access-Control"), std::string::npos);
}

TEST(page_answer, without_the_token_nothing_is_said_of_a_run) {
  const some_feed feed;
  const page_rules locked{7465, true, {}, "abc"};
  const auto answer_to = [&](const char* path, const char* authorization) {
    auto request = asked(path);
    request.authorization = authorization;
    return page_answer(request, feed, locked, 12);
  };
  for (const char* path :
       {"/api/status", "/api/curves", "/api/events", "/api/rounds", "/metrics"}) {
    const auto answer = answer_to(path, "Bearer abd");
    EXPECT_EQ(answer.substr(9, 3), "401") << path;
    EXPECT_NE(answer.find("\r\nWWW-Authenticate: Bearer\r\n"), std::string::npos) << path;
    EXPECT_EQ(body_of(answer), "401\n") << path;
    EXPECT_EQ(answer_to(path, "Bearer abc").substr(9, 3), "200") << path;
  }
  EXPECT_EQ(answer_to("/nothing", "").substr(9, 3), "401") << "not even which paths there are";
  for (const char* path : {"/", "/page.js", "/page.css", "/healthz", "/readyz"})
    EXPECT_EQ(answer_to(path, "").substr(9, 3), "200") << path;
}

TEST(page_answer, the_status_is_the_one_that_was_set_and_says_its_age) {
  const some_feed feed;
  const auto body =
    nlohmann::json::parse(body_of(page_answer(asked("/api/status"), feed, rules, 12)));
  EXPECT_EQ(body["job"], "digits");
  EXPECT_EQ(body["source"], "live");
  EXPECT_EQ(body["age_seconds"], 2);
  EXPECT_EQ(body["status"]["step"], 3);
}

TEST(page_answer, an_asset_that_the_browser_has_is_not_sent_again) {
  const some_feed feed;
  auto request = asked("/page.js");
  const auto first = page_answer(request, feed, rules, 12);
  EXPECT_EQ(body_of(first), page_asset_at("/page.js")->bytes);
  request.entity_tag = page_asset_at("/page.js")->entity_tag;
  EXPECT_EQ(status_of(request, feed), 304u);
  EXPECT_TRUE(body_of(page_answer(request, feed, rules, 12)).empty());
  request.is_head = true;
  request.entity_tag.clear();
  EXPECT_TRUE(body_of(page_answer(request, feed, rules, 12)).empty());
}

TEST(page_answer, a_supervisor_hears_when_training_waits) {
  EXPECT_EQ(status_of(asked("/readyz"), some_feed()), 200u);
  EXPECT_EQ(status_of(asked("/readyz"), some_feed(R"({"phase":"waiting"})")), 503u);
  EXPECT_EQ(status_of(asked("/readyz"), page_feed{"x", page_source::live}), 503u);
  EXPECT_EQ(status_of(asked("/healthz"), some_feed(R"({"phase":"waiting"})")), 200u);
}

} // namespace
} // namespace troupe::page_answer_test

// Who may read.

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

} // namespace
} // namespace troupe::page_rules_test
