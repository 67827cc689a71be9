// Visitors: the lines, the greeting, the gate, and whole clusters that are asked how they are.

#include "actors/net/gate/visit.hpp"

#include "actors/net/gate/visitor.hpp"
#include "actors/protocol/status_messages.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/networked.hpp"
#include "troupe/version.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <thread>

namespace troupe::visit_test {
namespace {

using nlohmann::json;
using namespace test;

visit_request asking(const std::string& version) {
  return {protocol_number, version, "status"};
}

failure failure_of(const endpoint& where, milliseconds deadline) {
  return test::failure_of([&] { ask_for_status(where, deadline); }, "it answered");
}

TEST(visit, a_line_says_what_was_written) {
  const auto line = write_visit(asking("1.2"));
  ASSERT_EQ(line.back(), '\n');
  EXPECT_EQ(read_visit(line), asking("1.2"));
}

TEST(visit, other_lines_are_none) {
  for (const auto* text : {"", "{}", "[]", R"({"visit":"status"})", R"({"troupe":1,"visit":7})",
                           R"({"troupe":-1,"visit":"status"})"})
    EXPECT_FALSE(read_visit(text)) << text;
  EXPECT_FALSE(read_visit(write_hello({facts_of("b"), {}})));
}

// A digit of a mean that changes on the way would train another model.
TEST(visit, a_line_with_any_bit_turned_over_is_none_or_of_another_protocol) {
  const auto visit = write_visit({protocol_number, "1", "table", "b", R"({"mean":0.25})"});
  table_answer said;
  said.table = R"({"mean":0.25})";
  for (const auto& line : {visit, visit_answer(said), visit_refusal(run_is_over("the end"))}) {
    EXPECT_EQ(state_of(line), line_state::whole);
    for (size_t i = 0; i + 1 < line.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        auto other = line;
        other[i] = static_cast<char>(other[i] ^ 1 << bit);
        const auto state = state_of(other);
        EXPECT_NE(state, line_state::whole) << other;
        const auto found = read_visit(other);
        EXPECT_TRUE(!found || found->protocol != protocol_number) << other;
      }
  }
  EXPECT_EQ(state_of("HTTP/1.1 400 Bad Request"), line_state::strange);
  EXPECT_EQ(state_of(R"({"troupe":1,"visit":"status"})"), line_state::foreign);
  EXPECT_EQ(state_of(""), line_state::strange);
}

TEST(visit, another_version_or_wish_is_refused) {
  EXPECT_TRUE(admit_visit(asking("1.2"), "1.2").is_admitted());
  EXPECT_EQ(admit_visit(asking("1.3"), "1.2").code, refusal_code::mismatch);
  auto other = asking("1.2");
  other.what = "parameters";
  EXPECT_EQ(admit_visit(other, "1.2").kind, verdict_kind::refused);
  other = asking("1.2");
  ++other.protocol;
  EXPECT_EQ(admit_visit(other, "1.2").kind, verdict_kind::refused);
}

TEST(visit, a_greeting_asks_for_the_answer_and_is_over_with_it) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes(write_visit(asking(facts_of("a").version)));
  EXPECT_EQ(a.state(), greeting::phase::visited);
  EXPECT_EQ(a.output(), "");
  a.on_visit_answer("hello\n");
  EXPECT_EQ(a.output(), "hello\n");
  EXPECT_EQ(a.state(), greeting::phase::over);
  EXPECT_FALSE(a.outcome().is_admitted());
}

TEST(visit, a_greeting_refuses_by_itself_and_who_dialled_takes_no_visit) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes(write_visit(asking("another")));
  EXPECT_EQ(a.state(), greeting::phase::over);
  EXPECT_NE(a.output().find("\"exit_code\":76"), std::string::npos) << a.output();
  greeting b{facts_of("b"), three_nodes(), "a"};
  b.on_bytes(write_visit(asking(facts_of("b").version)));
  EXPECT_EQ(b.state(), greeting::phase::broken);
}

visit_request bringing_card(const std::string& node, size_t bytes) {
  auto result = asking(facts_of("a").version);
  result.what = "table";
  result.node = node;
  result.card.assign(bytes, 'c');
  return result;
}

TEST(visit, a_node_brings_a_card_that_is_longer_than_a_hello) {
  greeting a{facts_of("a"), three_nodes()};
  const auto request = bringing_card("b", 300'000);
  const auto line = write_visit(request);
  EXPECT_TRUE(begins_with_card(line));
  for (size_t i = 0; i < line.size(); i += 1'000)
    a.on_bytes(std::string_view{line}.substr(i, 1'000));
  ASSERT_EQ(a.state(), greeting::phase::visited);
  EXPECT_EQ(a.visit(), request);
  greeting b{facts_of("a"), three_nodes()};
  b.on_bytes(write_visit(bringing_card("b", card_bytes_max)));
  EXPECT_EQ(b.state(), greeting::phase::broken) << "there is an end";
  greeting c{facts_of("a"), three_nodes()};
  auto status = asking(facts_of("a").version);
  status.card.assign(20'000, 'c');
  c.on_bytes(write_visit(status));
  EXPECT_EQ(c.state(), greeting::phase::broken) << "nobody else may say so much";
}

TEST(visit, who_brings_a_card_is_a_node_and_proves_it) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes(write_visit(bringing_card("stranger", 1)));
  EXPECT_EQ(a.state(), greeting::phase::over);
  EXPECT_NE(a.output().find("has no node 'stranger'"), std::string::npos) << a.output();
  for (const auto* proven : {"b", "c"}) {
    greeting secured{facts_of("a"), three_nodes()};
    secured.on_proof({proven});
    secured.on_bytes(write_visit(bringing_card("b", 1)));
    EXPECT_EQ(secured.state() == greeting::phase::visited, std::string{proven} == "b") << proven;
  }
}

TEST(visit, an_answer_about_rows_is_read_as_it_was_written) {
  const table_answer answer{"north, south", true,    "a form", "a \"table\"", 65,
                            "why",          "where", "hint"};
  EXPECT_EQ(read_table_answer(visit_answer(answer)), answer);
  EXPECT_EQ(read_table_answer(visit_answer(table_answer{})), table_answer{});
  EXPECT_FALSE(read_table_answer(visit_answer(training_status{})));
  EXPECT_FALSE(read_table_answer(R"({"rows":{"waits_for":1}})"));
  EXPECT_FALSE(read_table_answer("x"));
}

TEST(visit, through_the_gate_a_visitor_is_answered_and_let_go) {
  logged_gate a{options_of("a")};
  const raw_client visitor{a.door.port()};
  visitor.say(write_visit(asking(facts_of("a").version)));
  const auto news = a.log.next<visitor_news>();
  ASSERT_TRUE(news);
  a.door.answer_visit(news->ticket, "how it goes\n");
  EXPECT_EQ(visitor.hear(), "how it goes");
  EXPECT_EQ(visitor.hear(), "") << "the connection ends";
  EXPECT_FALSE(a.log.next<refused_news>(milliseconds{0})) << "nobody was refused";
}

TEST(visit, a_flood_of_visitors_keeps_nobody_out) {
  logged_gate a{options_of("a")};
  std::vector<std::unique_ptr<raw_client>> visitors;
  for (size_t i = 0; i < half_open_max + 5; ++i) {
    visitors.push_back(std::make_unique<raw_client>(a.door.port()));
    visitors.back()->say(write_visit(asking(facts_of("a").version)));
  }
  auto options = options_of("b");
  options.dials = {{"a", {"127.0.0.1", a.door.port()}}};
  logged_gate b{options};
  EXPECT_TRUE(b.log.next<opened_news>(milliseconds{3'000}));
  EXPECT_EQ(visitors[0]->hear(milliseconds{3'000}), "") << "the oldest one goes";
}

TEST(visit, a_running_cluster_says_how_it_goes_and_does_not_notice) {
  auto x = test::small_job();
  x.training.epochs = 1'000'000;
  test::test_cluster cluster{
    x, test::plan_of({test::bringing(1, 1), test::bringing(1, 0), test::bringing(1, 0)})};
  cluster.start(0);
  cluster.start(1);
  const endpoint director{"127.0.0.1", cluster[0].port()};
  EXPECT_EQ(json::parse(ask_for_status(director))["phase"], "waiting");
  cluster.start(2);
  for (int i = 0; i < 1'000 && cluster[0].version() < 20; ++i)
    std::this_thread::sleep_for(milliseconds{10});
  const auto news = cluster[0].news();
  const auto status = json::parse(ask_for_status(director));
  EXPECT_EQ(status["phase"], "training");
  EXPECT_GE(status["step"], 20);
  EXPECT_EQ(status["behind"], json::array());
  ASSERT_EQ(status["nodes"].size(), 3u);
  EXPECT_EQ(status["nodes"][0]["role"], "director");
  EXPECT_EQ(status["nodes"][2]["name"], "c");
  EXPECT_EQ(status["nodes"][2]["state"], "takes part");
  EXPECT_EQ(cluster[0].news(), news);
  const auto error = test::failure_of([&] { ask_for_status({"127.0.0.1", cluster[1].port()}); });
  EXPECT_EQ(error.code(), failure_code::mismatch);
  EXPECT_EQ(error.reason(), "b is not the director: ask a");
  cluster[0].stop();
  EXPECT_TRUE(cluster[0].end().training);
  EXPECT_EQ(cluster[1].end().reason, "finished");
}

TEST(visit, who_is_not_there_is_named) {
  const auto free_port = gate{options_of("a")}.port();
  EXPECT_EQ(failure_of({"127.0.0.1", free_port}, milliseconds{1'000}).code(),
            failure_code::unavailable);
  EXPECT_EQ(failure_of({"-", 1}, milliseconds{1'000}).code(), failure_code::missing_input);
}

TEST(visit, who_does_not_answer_in_time_is_given_up) {
  logged_gate a{options_of("a")}; // its visitors are never answered
  const auto error = failure_of({"127.0.0.1", a.door.port()}, milliseconds{100});
  EXPECT_EQ(error.code(), a.log.next<visitor_news>(milliseconds{0}) ? failure_code::unavailable
                                                                    : failure_code::mismatch);
}

failure failure_at(const std::string& answer) {
  return test::failure_of([&] { read_visit_answer(answer, "here"); }, "it is one");
}

TEST(visit, an_answer_that_is_nested_without_end_is_no_director) {
  for (const std::string& deep :
       {std::string(100'000, '['), std::string(100'000, '[') + std::string(100'000, ']')}) {
    const auto error = failure_at(R"({"status":{"phase":)" + deep);
    EXPECT_EQ(error.code(), failure_code::mismatch);
    EXPECT_EQ(error.reason(), "what answers is no director of troupe");
  }
  const auto whole =
    R"({"status":{"phase":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}}";
  EXPECT_EQ(failure_at(whole).code(), failure_code::mismatch);
}

TEST(visit, a_refusal_is_never_a_good_end_and_moves_no_terminal) {
  const auto error =
    failure_at(R"({"answer":{"verdict":"refused","reason":"a\u009b2Jb","exit_code":0}})");
  EXPECT_EQ(error.code(), failure_code::mismatch);
  EXPECT_EQ(error.reason(), "a 2Jb");
}

} // namespace
} // namespace troupe::visit_test
