// Whatever answers where a process was (F11): nobody believes a word of it, and once the process is
// back it is found.

#include "actors/net/gate/hello.hpp"
#include "actors/net/socket/channel.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/process_facts.hpp"

#include <gtest/gtest.h>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::impostors_test {
namespace {

using namespace test;

// Impostors: whatever may answer at the address of a process that is not there. Each
// listens on a port and does one thing to whoever comes, with a certificate of its own or in the
// clear.

struct impostor_kind {
  std::string name;
  std::optional<identity_texts> certificate; ///< absent: it does not secure its connections
  std::string says;                          ///< as soon as it can
  bool closes = false;                       ///< at once, instead of waiting for more
};

/// For whoever shows a certificate that may be no good, and looks at nobody's.
tls_context careless_context(const identity_texts& own) {
  tls_context result{SSL_CTX_new(TLS_method()), SSL_CTX_free};
  const auto source_of = [](const std::string& text) {
    return std::unique_ptr<BIO, decltype(&BIO_free_all)>{
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all};
  };
  const std::unique_ptr<X509, decltype(&X509_free)> certificate{
    PEM_read_bio_X509(source_of(own.certificate).get(), nullptr, nullptr, nullptr), X509_free};
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{
    PEM_read_bio_PrivateKey(source_of(own.key).get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
  SSL_CTX_use_certificate(result.get(), certificate.get());
  SSL_CTX_use_PrivateKey(result.get(), key.get());
  return result;
}

/// Serves one connection after the other, until it is gone.
class impostor {
public:
  explicit impostor(const impostor_kind& kind)
    : kind_(kind),
      listener_(listen_on(resolve({"127.0.0.1", 0}, milliseconds{0}).addresses.at(0))),
      thread_([this] {
        while (!ends_)
          if (is_ready(listener_.get(), POLLIN))
            serve();
      }) {}

  ~impostor() {
    ends_ = true;
    thread_.join();
  }

  uint16_t port() const { return port_of(listener_); }

private:
  /// Waits a moment.
  static bool is_ready(int descriptor, short events) {
    pollfd one{descriptor, events, 0};
    return ::poll(&one, 1, 10) > 0;
  }

  void serve() {
    channel line{accept_from(listener_)};
    if (line.descriptor() < 0)
      return;
    if (kind_.certificate && !shake_hands(line))
      return;
    if (!kind_.says.empty())
      line.write(kind_.says);
    std::string ignored;
    while (!ends_ && !kind_.closes)
      if ((line.has_pending() || is_ready(line.descriptor(), POLLIN)) && line.read(ignored).is_over)
        return;
  }

  bool shake_hands(channel& line) {
    line.secure(careless_context(*kind_.certificate), tls_side::accepts);
    while (!ends_) {
      const auto how = line.session()->shake_hands();
      if (how == tls_session::progress::done || how == tls_session::progress::failed)
        return how == tls_session::progress::done;
      is_ready(line.descriptor(), POLLIN);
    }
    return false;
  }

  impostor_kind kind_;
  owned_socket listener_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Who speaks no word of our language.
std::vector<impostor_kind> strange_impostors() {
  return {{"TLS alert", {}, std::string{"\x15\x03\x03\x00\x02\x02\x28", 7}},
          {"TLS alert: unknown authority", {}, std::string{"\x15\x03\x03\x00\x02\x02\x30", 7}},
          {"TLS that begins like ours", {}, std::string{"\x16\x03\x03\x00\x02\x02\x28", 7}},
          {"HTTP", {}, "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n"},
          {"ssh", {}, "SSH-2.0-OpenSSH_9.2\r\n"},
          {"garbage", {}, std::string(300, '\xfe')},
          {"nested", {}, std::string(9'000, '[') + '\n'},
          {"silence", {}, {}},
          {"a closed door", {}, {}, true}};
}

/// Who speaks it, as the process `peer` would if it refused `caller` for good.
std::vector<impostor_kind> refusing_impostors(const std::string& peer, const std::string& caller) {
  std::vector<impostor_kind> result;
  const verdict differs{verdict_kind::refused, "both differ", refusal_code::mismatch};
  for (const auto& word : {run_is_over("the run is finished"), name_in_use(caller), differs})
    for (const bool has_facts : {true, false})
      result.push_back(
        {"says " + word.reason + (has_facts ? " as " + peer : ""),
         {},
         write_hello({has_facts ? std::optional{facts_of(peer)} : std::nullopt, word})});
  return result;
}

/// Certificates that do not prove `peer`. `another` is another node of the cluster.
std::vector<std::pair<std::string, identity_texts>>
wrong_certificates(const identity_texts& authority, const std::string& peer,
                   const std::string& another) {
  const auto today = hours_around_now(-1, 1);
  return {{"self-signed", make_authority(peer, today)},
          {"foreign", issue_certificate(make_authority("foreign", today), peer, today)},
          {"expired", issue_certificate(authority, peer, hours_around_now(-2, -1))},
          {"not valid yet", issue_certificate(authority, peer, hours_around_now(1, 2))},
          {"another node's", issue_certificate(authority, another, today)},
          {"a visitor's", issue_certificate(authority, "visitor", today)}};
}

/// Everybody who may answer on a secured cluster where `peer` was dialled by `caller`.
std::vector<impostor_kind> all_impostors(const identity_texts& authority, const std::string& peer,
                                         const std::string& another, const std::string& caller) {
  auto result = strange_impostors();
  const auto refusing = refusing_impostors(peer, caller);
  result.insert(result.end(), refusing.begin(), refusing.end());
  for (const auto& [name, certificate] : wrong_certificates(authority, peer, another)) {
    result.push_back({name + ", silent", certificate, {}});
    for (auto one : refusing) {
      one.name = name + ", " + one.name;
      one.certificate = certificate;
      result.push_back(one);
    }
  }
  return result;
}

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
  const auto at_a = all_impostors(texts, "a", "b", "c");
  const auto at_b = all_impostors(texts, "b", "a", "c");
  ASSERT_EQ(at_a.size(), at_b.size());
  for (size_t i = 0; i < at_a.size() && !HasFatalFailure(); ++i)
    expect_unheard(at_a[i], at_b[i], &keys);
}

TEST(impostors, on_plain_connections_noise_is_no_refusal) {
  for (const auto& kind : strange_impostors())
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
