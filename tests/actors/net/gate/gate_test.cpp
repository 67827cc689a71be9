// The gate over real sockets of the loopback.

#include "tests/support/gates.hpp"

#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <memory>

namespace troupe::gate_test {
namespace {

using namespace test;

gate_options dialling(const std::string& name, const std::string& to, uint16_t port) {
  auto options = options_of(name);
  options.dials = {{to, {"127.0.0.1", port}}};
  return options;
}

/// The code of the failure to open a gate.
failure_code refusal_of(const gate_options& options) {
  return test::failure_of([&] { const gate door{options}; }, "").code();
}

TEST(gate, opens_one_connection_for_both_sides) {
  logged_gate a{options_of("a")};
  logged_gate b{dialling("b", "a", a.door.port())};
  const auto at_a = a.log.next<opened_news>();
  const auto at_b = b.log.next<opened_news>();
  ASSERT_TRUE(at_a && at_b);
  EXPECT_EQ(at_a->peer.node, "b");
  EXPECT_EQ(at_b->peer.node, "a");
  EXPECT_FALSE(at_a->was_dialled);
  EXPECT_TRUE(at_b->was_dialled);
  EXPECT_EQ(at_a->peer.incarnation, at_b->own_incarnation);
  EXPECT_EQ(at_b->peer.incarnation, at_a->own_incarnation);
  EXPECT_NE(at_a->own_incarnation, at_b->own_incarnation);
}

TEST(gate, an_open_connection_carries_bytes_and_nothing_of_the_hello) {
  logged_gate a{options_of("a")};
  logged_gate b{dialling("b", "a", a.door.port())};
  const auto at_a = a.log.next<opened_news>();
  const auto at_b = b.log.next<opened_news>();
  ASSERT_TRUE(at_a && at_b);
  EXPECT_EQ(at_a->connection->write("hi").byte_count, 2u);
  std::string heard;
  for (int i = 0; i < 500 && heard.empty(); ++i) {
    at_b->connection->read(heard);
    ::usleep(10'000);
  }
  EXPECT_EQ(heard, "hi");
}

TEST(gate, what_follows_the_last_line_at_once_is_left_in_the_connection) {
  logged_gate a{options_of("a")};
  const raw_client b{a.door.port()};
  b.say(write_hello({facts_of("b"), {}}));
  ASSERT_TRUE(b.hear());
  b.say(write_hello({{}, verdict{}}) + "and more");
  const auto at_a = a.log.next<opened_news>();
  ASSERT_TRUE(at_a);
  std::string heard;
  EXPECT_EQ(at_a->connection->read(heard).byte_count, 8u);
  EXPECT_EQ(heard, "and more");
}

// Beside the link: one attempt each time it is asked for, and no word of one that fails.
TEST(gate, a_carrier_is_dialled_once_and_known_by_its_token) {
  logged_gate a{options_of("a")};
  logged_gate b{dialling("b", "a", a.door.port())};
  const auto link = a.log.next<opened_news>();
  ASSERT_TRUE(link && b.log.next<opened_news>());
  EXPECT_EQ(link->carrier, 0u);
  for (const uint64_t token : {77, 78}) {
    b.door.dial_carrier("a", token);
    const auto at_a = a.log.next<opened_news>();
    const auto at_b = b.log.next<opened_news>();
    ASSERT_TRUE(at_a && at_b);
    EXPECT_EQ(at_a->carrier, token);
    EXPECT_EQ(at_b->carrier, token);
    EXPECT_TRUE(at_b->was_dialled);
    const auto asked = a.log.next<candidate_news>(milliseconds{0});
    EXPECT_TRUE(asked);
  }
  b.door.dial_carrier("c", 79); // nobody dials c
  EXPECT_FALSE(b.log.next<opened_news>(milliseconds{200})) << "it dialled again";
}

TEST(gate, a_carrier_that_is_turned_away_costs_nothing) {
  logged_gate a{options_of("a"), false};
  logged_gate b{dialling("b", "a", a.door.port())};
  const auto link = a.log.next<candidate_news>();
  ASSERT_TRUE(link);
  a.door.answer(link->ticket, {});
  ASSERT_TRUE(b.log.next<opened_news>());
  b.door.dial_carrier("a", 77);
  const auto carrier = a.log.next<candidate_news>();
  ASSERT_TRUE(carrier);
  EXPECT_EQ(carrier->peer.carrier, 77u);
  a.door.answer(carrier->ticket, name_not_free_yet("b"));
  EXPECT_FALSE(b.log.next<failing_news>(milliseconds{200}));
  EXPECT_FALSE(b.log.next<refused_news>(milliseconds{0}));
  EXPECT_FALSE(a.log.next<candidate_news>(milliseconds{0})) << "it dialled again";
}

TEST(gate, a_refusal_has_one_reason_on_both_sides_and_ends_the_dialling) {
  logged_gate a{options_of("a")};
  auto options = dialling("b", "a", a.door.port());
  options.facts.arithmetic = "another";
  logged_gate b{options};
  const auto at_a = a.log.next<refused_news>();
  const auto at_b = b.log.next<refused_news>();
  ASSERT_TRUE(at_a && at_b);
  EXPECT_EQ(at_a->what.why, at_b->what.why);
  EXPECT_EQ(at_a->what.peer, "b");
  EXPECT_EQ(at_b->what.peer, "a");
  EXPECT_TRUE(at_b->what.was_dialled);
  EXPECT_EQ(at_b->what.why.code, refusal_code::mismatch);
  EXPECT_FALSE(a.log.next<refused_news>(milliseconds{300})) << "it dialled again";
}

TEST(gate, who_finds_the_wrong_process_tries_again_and_refuses_nobody) {
  logged_gate c{options_of("c")};
  logged_gate a{dialling("a", "b", c.door.port())};
  for (int i = 0; i < 2; ++i) {
    const auto at_a = a.log.next<failing_news>();
    ASSERT_TRUE(at_a);
    EXPECT_EQ(at_a->reason, "the process at the address of b is c");
    EXPECT_TRUE(c.log.next<withdrawn_news>());
  }
  EXPECT_FALSE(a.log.next<refused_news>(milliseconds{0}));
  EXPECT_FALSE(c.log.next<refused_news>(milliseconds{0}));
}

TEST(gate, whoever_goes_on_talking_after_a_refusal_is_not_read_for_long) {
  logged_gate a{options_of("a")};
  const raw_client stranger{a.door.port()};
  stranger.say("\x16\x03\x01"); // told that connections are plain
  ASSERT_TRUE(stranger.hear());
  size_t said = 0;
  for (size_t chunk = 1; chunk > 0 && said < 20'000'000; said += chunk)
    chunk = stranger.try_to_say(std::string(4096, 'x'));
  EXPECT_LT(said, 20'000'000u);
}

TEST(gate, dials_until_somebody_is_there) {
  const auto port = free_port();
  logged_gate b{dialling("b", "a", port)};
  const auto first = b.log.next<failing_news>();
  const auto second = b.log.next<failing_news>();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->name, "a");
  EXPECT_EQ(first->since, second->since);
  EXPECT_EQ(first->reason, "Connection refused");
  auto options = options_of("a");
  options.listen.port = port;
  logged_gate a{options};
  EXPECT_TRUE(b.log.next<opened_news>());
  EXPECT_TRUE(a.log.next<opened_news>());
}

TEST(gate, dials_again_when_told_that_the_connection_is_lost) {
  logged_gate a{options_of("a")};
  logged_gate b{dialling("b", "a", a.door.port())};
  const auto first = b.log.next<opened_news>();
  ASSERT_TRUE(first);
  b.door.dial_again("a");
  const auto second = b.log.next<opened_news>();
  ASSERT_TRUE(second);
  EXPECT_NE(first->own_incarnation, second->own_incarnation);
}

TEST(gate, dials_at_once_when_told_that_the_process_is_there) {
  const auto port = free_port();
  auto waiting = dialling("b", "a", port);
  waiting.dial_delay_min = waiting.dial_delay_max = std::chrono::hours{1};
  logged_gate b{waiting};
  ASSERT_TRUE(b.log.next<failing_news>());
  auto options = options_of("a");
  options.listen.port = port;
  logged_gate a{options};
  b.door.dial_now("a", {"127.0.0.1", port});
  EXPECT_TRUE(b.log.next<opened_news>());
  b.door.dial_now("a", {"127.0.0.1", port}); // it is linked: nothing
  EXPECT_TRUE(a.log.next<opened_news>());
  EXPECT_FALSE(a.log.next<opened_news>(milliseconds{200}));
}

TEST(gate, a_candidate_that_is_told_to_come_later_comes_again) {
  logged_gate a{options_of("a"), false};
  logged_gate b{dialling("b", "a", a.door.port())};
  auto candidate = a.log.next<candidate_news>();
  ASSERT_TRUE(candidate);
  a.door.answer(candidate->ticket, name_not_free_yet("b"));
  EXPECT_EQ(a.log.next<withdrawn_news>()->ticket, candidate->ticket);
  EXPECT_EQ(b.log.next<failing_news>()->reason, name_not_free_yet("b").reason);
  candidate = a.log.next<candidate_news>();
  ASSERT_TRUE(candidate);
  a.door.answer(candidate->ticket, {});
  EXPECT_EQ(a.log.next<opened_news>()->ticket, candidate->ticket);
}

TEST(gate, a_candidate_that_goes_away_is_withdrawn) {
  logged_gate a{options_of("a"), false};
  auto b = std::make_unique<raw_client>(a.door.port());
  b->say(write_hello({facts_of("b"), {}}));
  const auto candidate = a.log.next<candidate_news>();
  ASSERT_TRUE(candidate);
  b.reset();
  EXPECT_EQ(a.log.next<withdrawn_news>()->ticket, candidate->ticket);
}

TEST(gate, a_silent_client_is_closed_at_the_deadline_and_costs_nothing_until_then) {
  auto options = options_of("a");
  options.hello_deadline = milliseconds{1'000};
  logged_gate a{options};
  std::vector<std::unique_ptr<raw_client>> silent;
  for (int i = 0; i < 5; ++i)
    silent.push_back(std::make_unique<raw_client>(a.door.port()));
  const auto cpu_ms = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
  };
  const auto before = cpu_ms();
  EXPECT_FALSE(silent[0]->hear(milliseconds{500})) << "closed before its time";
  for (const auto& client : silent)
    EXPECT_EQ(client->hear(), "");
  EXPECT_LT(cpu_ms() - before, 100);
}

TEST(gate, a_flood_of_silent_clients_keeps_nobody_out) {
  logged_gate a{options_of("a")};
  std::vector<std::unique_ptr<raw_client>> silent;
  for (size_t i = 0; i < half_open_max + 20; ++i)
    silent.push_back(std::make_unique<raw_client>(a.door.port()));
  logged_gate b{dialling("b", "a", a.door.port())};
  EXPECT_TRUE(b.log.next<opened_news>(milliseconds{3'000}));
  EXPECT_EQ(silent[0]->hear(milliseconds{3'000}), "") << "the oldest one goes";
}

TEST(gate, strangers_are_closed_without_an_answer) {
  logged_gate a{options_of("a")};
  const std::vector<std::string> texts{"GET / HTTP/1.1\n", std::string(20'000, 'x'), "{}\n",
                                       write_hello({facts_of("b"), {}}) + "and more",
                                       std::string(32, '\0') + "\n"};
  for (const auto& text : texts) {
    const raw_client stranger{a.door.port()};
    stranger.say(text);
    EXPECT_EQ(stranger.hear(), "") << text.substr(0, 40);
  }
  EXPECT_FALSE(a.log.next<opened_news>(milliseconds{0}));
}

TEST(gate, once_closed_it_tells_everybody_that_the_run_is_over) {
  const auto over = run_is_over("the run is finished");
  logged_gate a{options_of("a"), false};
  logged_gate b{dialling("b", "a", a.door.port())};
  ASSERT_TRUE(a.log.next<candidate_news>()) << "it waits for its name to be free";
  a.door.close(over);
  EXPECT_EQ(b.log.next<refused_news>()->what.why, over);
  logged_gate c{dialling("c", "a", a.door.port())};
  EXPECT_EQ(c.log.next<refused_news>()->what.why, over);
}

TEST(gate, closed_in_the_middle_of_a_hello_it_says_so_too) {
  logged_gate a{options_of("a")};
  const raw_client b{a.door.port()};
  const raw_client stranger{a.door.port()};
  stranger.say("nobody\n");
  EXPECT_EQ(stranger.hear(), "") << "both are accepted, in their order";
  a.door.close(run_is_over("the run is finished"));
  b.say(write_hello({facts_of("b"), {}}));
  const auto heard = read_hello(b.hear().value_or(""));
  ASSERT_TRUE(heard && heard->answer);
  EXPECT_EQ(*heard->answer, run_is_over("the run is finished"));
}

TEST(gate, an_address_that_it_cannot_or_may_not_have_is_named) {
  const gate a{options_of("a")};
  const auto refusal_at = [](const std::string& host, uint16_t port, bool insecure) {
    auto options = options_of("b");
    options.listen = {host, port};
    options.plan.insecure = insecure;
    return refusal_of(options);
  };
  EXPECT_EQ(refusal_at("127.0.0.1", a.port(), false), failure_code::cannot_create) << "in use";
  EXPECT_EQ(refusal_at("192.0.2.1", 0, true), failure_code::missing_input) << "another machine's";
  EXPECT_EQ(refusal_at("0.0.0.0", 0, false), failure_code::bad_job) << "nobody consented";
}

TEST(gate, listens_beyond_loopback_when_told_to) {
  auto options = options_of("a");
  options.listen.host = "0.0.0.0";
  options.plan.insecure = true;
  EXPECT_NE(gate{options}.port(), 0);
}

TEST(gate, a_port_can_be_had_again_at_once) {
  uint16_t port = 0;
  {
    logged_gate a{options_of("a")};
    port = a.door.port();
    logged_gate b{dialling("b", "a", port)};
    ASSERT_TRUE(a.log.next<opened_news>());
  }
  auto options = options_of("a");
  options.listen.port = port;
  EXPECT_EQ(gate{options}.port(), port);
}

TEST(gate, a_director_of_an_older_term_is_kept_waiting) {
  auto of_b = options_of("b");
  of_b.facts.term = 3;
  logged_gate b{of_b};
  auto options = dialling("a", "b", b.door.port());
  options.facts.term = 2;
  logged_gate a{options};
  const auto failing = a.log.next<failing_news>();
  ASSERT_TRUE(failing);
  EXPECT_NE(failing->reason.find("has seen term 3"), std::string::npos) << failing->reason;
  a.door.see_term(3);
  EXPECT_TRUE(a.log.next<opened_news>());
}

} // namespace
} // namespace troupe::gate_test
