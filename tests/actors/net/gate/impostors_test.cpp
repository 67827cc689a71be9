// Whatever answers where a process was (F11): nobody believes a word of it, and once the process is
// back it is found.

#include "tests/support/gates.hpp"
#include "tests/support/impostors.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace troupe::impostors_test {

namespace {

using test::impostor;
using test::impostor_kind;
using test::logged_gate;
using test::options_of;
using test::some_authority;

/// For c, which dials a, the director, and b.
struct cluster_keys {
  some_authority authority;
  tls_files a = authority.issue("a");
  tls_files b = authority.issue("b");
  tls_files c = authority.issue("c");
};

gate_options with(const std::string& name, const std::optional<tls_files>& files,
                  uint16_t port = 0) {
  auto options = options_of(name);
  options.tls = files;
  options.listen.port = port;
  options.hello_deadline = milliseconds{250}; // silent ones are given up
  return options;
}

/// c meets these where it looks for a and b, and then a and b.
void expect_unheard(const impostor_kind& at_a, const impostor_kind& at_b,
                    const cluster_keys* keys) {
  const auto files = [&](tls_files cluster_keys::*of) {
    return keys ? std::optional{keys->*of} : std::nullopt;
  };
  std::optional<impostor> a{at_a};
  std::optional<impostor> b{at_b};
  auto options = with("c", files(&cluster_keys::c));
  options.dials = {{"a", {"127.0.0.1", a->port()}}, {"b", {"127.0.0.1", b->port()}}};
  logged_gate c{options};
  std::set<std::string> failing;
  while (failing.size() < 2) {
    const auto news = c.log.next<failing_news>();
    ASSERT_TRUE(news) << at_a.name;
    EXPECT_NE(news->reason, "");
    failing.insert(news->name);
  }
  EXPECT_FALSE(c.log.next<opened_news>(milliseconds{0})) << at_a.name;
  const auto at = std::pair{a->port(), b->port()};
  a.reset();
  b.reset();
  logged_gate real_a{with("a", files(&cluster_keys::a), at.first)};
  logged_gate real_b{with("b", files(&cluster_keys::b), at.second)};
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(c.log.next<opened_news>()) << at_a.name;
  const auto refused = c.log.next<refused_news>(milliseconds{0});
  EXPECT_FALSE(refused) << at_a.name << ": " << refused->what.why.reason;
}

TEST(impostors, with_tls_nobody_believes_a_word_of_them) {
  const cluster_keys keys;
  const auto& texts = keys.authority.texts();
  const auto at_a = test::all_impostors(texts, "a", "b", "c");
  const auto at_b = test::all_impostors(texts, "b", "a", "c");
  ASSERT_EQ(at_a.size(), at_b.size());
  for (size_t i = 0; i < at_a.size() && !HasFatalFailure(); ++i)
    expect_unheard(at_a[i], at_b[i], &keys);
}

TEST(impostors, on_plain_connections_noise_is_no_refusal) {
  for (const auto& kind : test::strange_impostors())
    if (!HasFatalFailure())
      expect_unheard(kind, kind, nullptr);
}

// Plain clusters trust their hosts: the process that was dialled is believed, and no other.
TEST(impostors, on_plain_connections_another_node_is_not_the_one_that_was_dialled) {
  for (const auto& word : {run_is_over("the run is finished"), name_in_use("c")}) {
    const impostor_kind b{"b", {}, write_hello({test::facts_of("b"), word})};
    const impostor_kind a{"a", {}, write_hello({test::facts_of("a"), word})};
    expect_unheard(b, a, nullptr);
  }
}

// Proof that the walk can fail: who has the certificate is believed.
TEST(impostors, who_proves_its_name_is_heard) {
  const cluster_keys keys;
  const auto own = issue_certificate(keys.authority.texts(), "a", test::hours_around_now(-1, 1));
  const impostor a{{"a", own, write_hello({{}, run_is_over("the run is finished")})}};
  auto options = with("c", keys.c);
  options.dials = {{"a", {"127.0.0.1", a.port()}}};
  logged_gate c{options};
  const auto refused = c.log.next<refused_news>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->what, (refusal{"a", run_is_over("the run is finished"), true}));
}

} // namespace

} // namespace troupe::impostors_test
