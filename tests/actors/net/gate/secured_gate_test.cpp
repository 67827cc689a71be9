// The gate over secured connections of the loopback, with certificates made here (T1, T2, T3).

#include "actors/net/gate/visitor.hpp"
#include "data/text/failure.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/networked.hpp"

#include <gtest/gtest.h>

#include <openssl/ssl.h>

#include <sys/stat.h>

#include <array>
#include <chrono>

namespace troupe::secured_gate_test {
namespace {

using namespace test;

gate_options secured(const std::string& name, const tls_files& files) {
  auto options = options_of(name);
  options.tls = files;
  return options;
}

gate_options dialling(gate_options options, const std::string& to, uint16_t port) {
  options.dials = {{to, {"127.0.0.1", port}}};
  return options;
}

failure failure_of(const gate_options& options) {
  return test::failure_of([&] { const gate door{options}; }, "it opens");
}

/// A client that shakes hands with what it likes, and then says something. Blocks, with an end.
class tls_client {
public:
  tls_client(uint16_t port, const tls_context& context) : line_(connected(port)) {
    line_.secure(context, tls_side::dials);
    while (how_ != tls_session::progress::done && how_ != tls_session::progress::failed) {
      how_ = line_.session()->shake_hands();
      if (how_ != tls_session::progress::done && !wait())
        return;
    }
  }

  bool has_shaken_hands() const { return how_ == tls_session::progress::done; }
  void say(std::string_view text) { line_.write(text); }

  /// Why the connection ended, or what came before its end.
  std::string hear() {
    if (!has_shaken_hands())
      return line_.session()->problem().problem;
    std::string heard;
    while (wait()) {
      const auto what = line_.read(heard);
      if (what.is_over)
        return what.is_refusal ? what.problem : heard;
      if (heard.ends_with('\n'))
        return heard;
    }
    return "nothing in time";
  }

private:
  static channel connected(uint16_t port) {
    std::string problem;
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    channel result{begin_connect({&where, sizeof where}, problem)};
    pollfd ready{result.descriptor(), POLLOUT, 0};
    ::poll(&ready, 1, 5'000);
    return result;
  }

  bool wait() const {
    if (line_.has_pending())
      return true;
    pollfd ready{line_.descriptor(), POLLIN, 0};
    return ::poll(&ready, 1, 6'000) > 0;
  }

  channel line_;
  tls_session::progress how_ = tls_session::progress::wants_to_read;
};

TEST(secured_gate, opens_one_connection_for_both_sides_and_carries_bytes) {
  const some_authority authority;
  logged_gate a{secured("a", authority.issue("a"))};
  logged_gate b{dialling(secured("b", authority.issue("b")), "a", a.door.port())};
  const auto at_a = a.log.next<opened_news>();
  const auto at_b = b.log.next<opened_news>();
  ASSERT_TRUE(at_a && at_b);
  EXPECT_EQ(at_a->peer.node, "b");
  EXPECT_EQ(at_b->peer.node, "a");
  ASSERT_TRUE(at_a->connection->session() && at_b->connection->session());
  EXPECT_EQ(at_a->connection->session()->peer_names(), std::vector<std::string>{"b"});
  EXPECT_EQ(at_a->connection->write("hi").byte_count, 2u);
  std::string heard;
  for (int i = 0; i < 500 && heard.empty(); ++i) {
    at_b->connection->read(heard);
    ::usleep(10'000);
  }
  EXPECT_EQ(heard, "hi");
}

TEST(secured_gate, whoever_proves_another_name_is_refused_on_both_sides) {
  const some_authority authority;
  const auto of_c = authority.issue("c");
  logged_gate a{secured("a", authority.issue("a"))};
  tls_client b{a.door.port(), load_tls(of_c, {})};
  b.say(write_hello({test::facts_of("b"), {}}));
  const auto line = b.hear();
  const auto heard = read_hello(line.substr(0, line.size() - 1));
  ASSERT_TRUE(heard && heard->answer) << line;
  EXPECT_EQ(heard->answer->code, refusal_code::no_permission);
  EXPECT_EQ(heard->answer->reason.find("b proves itself with a certificate for c"), 0u);
  const auto at_a = a.log.next<refused_news>();
  ASSERT_TRUE(at_a);
  EXPECT_EQ(at_a->what.why, *heard->answer);
  EXPECT_EQ(at_a->what.peer, "") << "its name is not believed";
  EXPECT_EQ(at_a->host, "127.0.0.1");
  EXPECT_FALSE(a.log.next<candidate_news>(milliseconds{0}));
}

// The one certificate of all that may join proves any name that no file lists, and no other.
TEST(secured_gate, who_is_not_listed_proves_that_it_may_join) {
  const some_authority authority;
  const auto open = [](const std::string& name, const tls_files& files) {
    auto options = secured(name, files);
    options.plan.join.emplace();
    options.plan.max_nodes = 5;
    if (!options.plan.lists(name))
      options.plan.nodes.push_back({name, {}, "127.0.0.1:0", false, 1, 1, {}, false, false});
    return options;
  };
  const auto joins = authority.issue("join");
  logged_gate b{open("b", authority.issue("b"))};
  logged_gate x{dialling(open("x", joins), "b", b.door.port())};
  EXPECT_EQ(b.log.next<opened_news>()->peer.node, "x");
  ASSERT_TRUE(x.log.next<opened_news>());
  EXPECT_EQ(failure_of(open("y", authority.issue("y"))).code(), failure_code::no_permission)
    << "a name of its own admits nobody";
  EXPECT_EQ(failure_of(open("c", joins)).code(), failure_code::no_permission);

  const auto refused = [&](const tls_files& files, const std::string& name) {
    tls_client stranger{b.door.port(), load_tls(files, {})};
    stranger.say(write_hello({test::facts_of(name), {}}));
    const auto line = stranger.hear();
    const auto heard = read_hello(line.substr(0, line.size() - 1));
    return heard && heard->answer ? heard->answer->reason : "no answer: " + line;
  };
  EXPECT_EQ(refused(joins, "c"),
            "c proves itself with a certificate for join; give it its own: troupe certs issue c");
  EXPECT_EQ(refused(authority.issue("y"), "y"),
            "y, which the cluster file does not list, proves itself with a certificate for y; give "
            "it one of those that may join: troupe certs issue join");
  EXPECT_EQ(refused(authority.issue("c"), "y").substr(0, 1), "y");
  EXPECT_EQ(x.log.next<failing_news>(milliseconds{0}).has_value(), false);
}

TEST(secured_gate, whoever_is_dialled_and_proves_another_name_is_left_and_dialled_again) {
  const some_authority authority;
  logged_gate c{secured("c", authority.issue("c"))};
  logged_gate a{dialling(secured("a", authority.issue("a")), "b", c.door.port())};
  for (int i = 0; i < 2; ++i) {
    const auto at_a = a.log.next<failing_news>();
    ASSERT_TRUE(at_a);
    EXPECT_EQ(at_a->reason.find("b proves itself with a certificate for c"), 0u);
    const auto at_c = c.log.next<turned_away_news>();
    ASSERT_TRUE(at_c);
    EXPECT_EQ(at_c->reason, "it did not say who it is");
  }
  EXPECT_FALSE(a.log.next<refused_news>(milliseconds{0}));
  EXPECT_FALSE(c.log.next<refused_news>(milliseconds{0})) << "c has done nothing wrong";
}

TEST(secured_gate, an_unknown_authority_is_named_on_both_sides_and_proves_nothing) {
  const some_authority authority;
  const some_authority foreign{"foreign"};
  logged_gate a{secured("a", authority.issue("a"))};
  logged_gate b{dialling(secured("b", foreign.issue("b")), "a", a.door.port())};
  const auto at_b = b.log.next<failing_news>(milliseconds{5'000});
  const auto at_a = a.log.next<refused_news>(milliseconds{5'000});
  ASSERT_TRUE(at_a && at_b);
  EXPECT_EQ(at_b->reason,
            "no secured connection with a: its certificate is not from the authority of this "
            "cluster");
  EXPECT_EQ(at_a->what.why.reason, "it says that our certificate is not from its authority");
  EXPECT_EQ(at_a->what.peer, "") << "whoever that was ends nobody";
  EXPECT_FALSE(b.log.next<refused_news>(milliseconds{0}));
  logged_gate c{dialling(secured("c", authority.issue("c")), "a", a.door.port())};
  EXPECT_TRUE(a.log.next<opened_news>());
}

// It comes as an alert, over a connection on which the other side has proven its name.
TEST(secured_gate, who_is_proven_and_does_not_believe_us_refuses_for_good) {
  const some_authority authority;
  const some_authority foreign{"foreign"};
  auto files = foreign.issue("b");
  files.authority =
    foreign.folder().write("both.pem", foreign.texts().certificate + authority.texts().certificate);
  logged_gate a{secured("a", authority.issue("a"))};
  logged_gate b{dialling(secured("b", files), "a", a.door.port())};
  const auto at_b = b.log.next<refused_news>(milliseconds{5'000});
  ASSERT_TRUE(at_b);
  EXPECT_EQ(at_b->what.peer, "a");
  EXPECT_EQ(at_b->what.why.code, refusal_code::no_permission);
  EXPECT_EQ(at_b->what.why.reason, "no secured connection with a: it says that our certificate is "
                                   "not from its authority");
}

/// With what the files of a process would not pass, or nothing.
tls_context context_with(const some_authority& trusted, const identity_texts& own) {
  const tls_context result{SSL_CTX_new(TLS_method()), SSL_CTX_free};
  const auto& folder = trusted.folder();
  EXPECT_EQ(SSL_CTX_load_verify_locations(result.get(), folder.path("ca.pem").c_str(), nullptr), 1);
  SSL_CTX_set_verify(result.get(), SSL_VERIFY_PEER, nullptr);
  if (own.certificate.empty())
    return result;
  const auto certificate = folder.write("own.pem", own.certificate);
  const auto key = folder.write("own.key", own.key);
  EXPECT_EQ(SSL_CTX_use_certificate_chain_file(result.get(), certificate.c_str()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(result.get(), key.c_str(), SSL_FILETYPE_PEM), 1);
  return result;
}

/// Of a client that trusts the gate, and whose own certificate the gate is to refuse.
void expect_refused(const some_authority& trusted, const identity_texts& own,
                    const std::string& at_gate, const std::string& at_client) {
  logged_gate a{secured("a", trusted.issue("a"))};
  tls_client client{a.door.port(), context_with(trusted, own)};
  const auto refused = a.log.next<refused_news>(milliseconds{5'000});
  ASSERT_TRUE(refused) << at_gate;
  EXPECT_EQ(refused->what.why.reason, at_gate);
  EXPECT_EQ(client.hear(), at_client);
  logged_gate c{dialling(secured("c", trusted.issue("c")), "a", a.door.port())};
  EXPECT_TRUE(a.log.next<opened_news>()) << "it serves on";
}

TEST(secured_gate, an_expired_or_foreign_certificate_or_none_is_named_on_both_sides) {
  const some_authority authority;
  const some_authority foreign{"foreign"};
  expect_refused(authority, issue_certificate(authority.texts(), "b", hours_around_now(-2, -1)),
                 "its certificate has expired", "it says that our certificate has expired");
  expect_refused(authority, issue_certificate(foreign.texts(), "b", hours_around_now(-1, 1)),
                 "its certificate is not from the authority of this cluster",
                 "it says that our certificate is not from its authority");
  expect_refused(authority, {}, "it has no certificate", "it says that we have no certificate");
}

TEST(secured_gate, plain_and_secured_processes_tell_each_other) {
  const some_authority authority;
  logged_gate a{secured("a", authority.issue("a"))};
  logged_gate plain_b{dialling(options_of("b"), "a", a.door.port())};
  for (auto* log : {&a.log, &plain_b.log}) {
    const auto refused = log->next<refused_news>(milliseconds{5'000});
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->what.why, comes_unsecured("a"));
  }
  logged_gate plain_a{options_of("a")};
  logged_gate b{dialling(secured("b", authority.issue("b")), "a", plain_a.door.port())};
  const auto refused = plain_a.log.next<refused_news>(milliseconds{5'000});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->what.why, comes_secured("a"));
  const auto failing = b.log.next<failing_news>(milliseconds{5'000});
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->reason, comes_secured("a").reason) << "anybody could have said that";
}

TEST(secured_gate, strangers_are_closed_and_told_of_with_their_host) {
  const some_authority authority;
  logged_gate a{secured("a", authority.issue("a"))};
  for (const std::string& text :
       {std::string{"GET / HTTP/1.1\n"}, std::string(5000, 'x'), std::string(32, '\0'),
        "\x16\x03\x01" + std::string(600, '\x7f'), std::string(600, '\x16')}) {
    const raw_client stranger{a.door.port()};
    stranger.say(text);
    EXPECT_TRUE(stranger.hear(milliseconds{5'000})) << text.substr(0, 20);
    const auto told = a.log.next<turned_away_news>();
    ASSERT_TRUE(told) << text.substr(0, 20);
    EXPECT_EQ(told->host, "127.0.0.1");
    EXPECT_TRUE(told->reason == "it is no process of troupe" ||
                told->reason.starts_with("it breaks the rules of TLS: "))
      << told->reason;
  }
  logged_gate b{dialling(secured("b", authority.issue("b")), "a", a.door.port())};
  EXPECT_TRUE(a.log.next<opened_news>());
}

TEST(secured_gate, a_silent_client_is_closed_at_the_deadline) {
  const some_authority authority;
  auto options = secured("a", authority.issue("a"));
  options.hello_deadline = milliseconds{500};
  logged_gate a{options};
  const raw_client silent{a.door.port()};
  tls_client mute{a.door.port(), load_tls(authority.issue("b"), {})};
  EXPECT_TRUE(mute.has_shaken_hands());
  EXPECT_EQ(silent.hear(), "");
  EXPECT_EQ(mute.hear(), "");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(a.log.next<turned_away_news>()->reason, "it has been silent for 500 ms");
}

TEST(secured_gate, new_connections_use_files_that_were_replaced) {
  const some_authority authority;
  const auto files = authority.issue("a");
  logged_gate a{secured("a", files)};
  const auto until_seen = [&] {
    tls_client client{a.door.port(), load_tls(authority.issue("b"), {})};
    return client.has_shaken_hands();
  };
  EXPECT_TRUE(until_seen());
  // Another authority: whoever comes with the old one is refused from now on.
  const some_authority other{"other"};
  const auto fresh = issue_certificate(other.texts(), "a", hours_around_now(-1, 1));
  write_file_atomically(files.key, fresh.key, {mode_for_owner, true});
  EXPECT_TRUE(until_seen()) << "the old ones count while the new ones do not fit";
  const auto unfit = a.log.next<files_unfit_news>();
  ASSERT_TRUE(unfit);
  EXPECT_NE(unfit->reason.find("belongs to another certificate"), std::string::npos);
  write_file_atomically(files.certificate, fresh.certificate, {mode_for_everyone, true});
  write_file_atomically(files.authority, other.texts().certificate, {mode_for_everyone, true});
  logged_gate b{dialling(secured("b", other.issue("b")), "a", a.door.port())};
  EXPECT_TRUE(b.log.next<opened_news>());
}

TEST(secured_gate, files_that_do_not_fit_keep_it_from_starting) {
  const some_authority authority;
  const some_authority foreign{"foreign"};
  const auto good = authority.issue("a");
  const auto of_b = authority.issue("b");
  const auto missing = authority.folder().path("none");
  const auto expired = authority.issue("a", hours_around_now(-2, -1), "expired");
  const auto open_key = authority.issue("a", hours_around_now(-1, 1), "open");
  ASSERT_EQ(::chmod(open_key.key.c_str(), 0644), 0);
  const auto open_authority =
    authority.folder().write("open-ca.pem", authority.texts().certificate);
  ASSERT_EQ(::chmod(open_authority.c_str(), 0666), 0);
  const auto junk = authority.folder().write("junk.pem", "junk");
  const std::vector<std::pair<tls_files, failure_code>> cases{
    {{missing, good.certificate, good.key}, failure_code::missing_input},
    {{good.authority, missing, good.key}, failure_code::missing_input},
    {{good.authority, good.certificate, missing}, failure_code::missing_input},
    {{junk, good.certificate, good.key}, failure_code::bad_data},
    {{good.authority, junk, good.key}, failure_code::bad_data},
    {open_key, failure_code::no_permission},
    {{open_authority, good.certificate, good.key}, failure_code::no_permission},
    {expired, failure_code::no_permission},
    {{good.authority, good.certificate, of_b.key}, failure_code::no_permission},
    {of_b, failure_code::no_permission},
    {{foreign.issue("x").authority, good.certificate, good.key}, failure_code::no_permission}};
  for (const auto& [files, code] : cases) {
    const auto error = failure_of(secured("a", files));
    EXPECT_EQ(error.code(), code) << files.certificate << ": " << error.what();
    EXPECT_FALSE(error.where().empty()) << error.what();
  }
  EXPECT_EQ(failure_of(secured("a", good)).reason(), "it opens");
  EXPECT_NE(failure_of(secured("a", cases[1].first)).hint().find("troupe certs issue a"),
            std::string::npos);
}

TEST(secured_gate, listens_beyond_loopback) {
  const some_authority authority;
  auto options = secured("a", authority.issue("a"));
  options.listen.host = "0.0.0.0";
  EXPECT_EQ(failure_of(options).reason(), "it opens");
}

TEST(secured_gate, a_cluster_trains_the_same_bits_and_answers_visitors_of_its_authority) {
  const some_authority authority;
  const some_authority foreign{"foreign"};
  auto x = test::small_job();
  const auto files = std::array{authority.issue("a"), authority.issue("b")};
  const auto bits_of = [&](bool is_secured) {
    test::test_cluster cluster{x, test::plan_of({test::bringing(1, 1), test::bringing(1, 1)})};
    for (size_t i = 0; i < 2; ++i) {
      auto options = cluster.options_of(i);
      if (is_secured)
        options.tls = files[i];
      cluster.start(i, options);
      if (i == 0 && is_secured) {
        const endpoint director{"127.0.0.1", cluster[0].port()};
        EXPECT_NE(ask_for_status(director, visit_deadline, visit_security{files[1], "a"}), "");
        for (const auto& [security, words] :
             std::vector<std::pair<std::optional<visit_security>, std::string>>{
               {std::nullopt, "a secures its connections"},
               {visit_security{files[1], "b"}, "b proves itself with a certificate for a"},
               {visit_security{foreign.issue("b"), "a"}, "not from the authority"}}) {
          const auto error =
            test::failure_of([&] { ask_for_status(director, visit_deadline, security); });
          EXPECT_EQ(error.code(), failure_code::no_permission);
          EXPECT_NE(error.reason().find(words), std::string::npos) << error.reason();
        }
      }
    }
    const auto end = cluster[0].end();
    EXPECT_EQ(cluster[1].end().reason, "finished");
    return test::values_of(end.training->parameters);
  };
  EXPECT_EQ(bits_of(true), bits_of(false));
}

} // namespace
} // namespace troupe::secured_gate_test
