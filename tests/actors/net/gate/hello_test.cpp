#include "tests/support/gates.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe::hello_test {
namespace {

using test::facts_of;
using test::three_nodes;

/// Carries what one side says to the other.
void carry(greeting& from, greeting& to) {
  to.on_bytes(std::exchange(from.output(), {}));
}

struct pair_of_greetings {
  greeting a{facts_of("a"), three_nodes()};
  greeting b{facts_of("b"), three_nodes(), "a"};
};

TEST(hello, a_line_says_what_was_written) {
  auto facts = facts_of("b");
  facts.incarnation = ~uint64_t{0};
  facts.term = 7;
  const hello_line line{facts,
                        verdict{verdict_kind::refused, "it is \"b\"", refusal_code::mismatch}};
  const auto text = write_hello(line);
  ASSERT_EQ(text.back(), '\n');
  EXPECT_EQ(read_hello(text.substr(0, text.size() - 1)), line);
}

TEST(hello, a_line_that_lacks_a_fact_is_none) {
  const auto text = write_hello({facts_of("b"), {}});
  for (const auto* key :
       {"node", "incarnation", "director", "job", "data", "cluster", "arithmetic", "directive",
        "term", "process", "life", "carrier", "address", "version"}) {
    auto lacking = text.substr(0, text.size() - 1);
    lacking.replace(lacking.find('"' + std::string{key} + '"'), 2, "\"_");
    EXPECT_FALSE(read_hello(lacking)) << key;
  }
}

TEST(hello, says_what_kinds_compute_where_there_are_some) {
  auto facts = facts_of("b");
  EXPECT_EQ(write_hello({facts, {}}).find("\"kinds\""), std::string::npos);
  facts.kinds = "optimizer lion 2 = 9f3a0c11d2e4b587";
  const auto text = write_hello({facts, {}});
  EXPECT_EQ(read_hello(std::string_view{text}.substr(0, text.size() - 1)), (hello_line{facts, {}}));
}

TEST(hello, another_protocol_is_understood_as_far_as_to_refuse_it) {
  const auto line = read_hello(R"({"troupe":99,"node":"b"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(admit(facts_of("a"), *line->facts, three_nodes()).code, refusal_code::mismatch);
}

TEST(hello, a_run_that_is_over_says_so_to_who_could_have_taken_part) {
  for (const auto& [over, is_dialled] :
       {std::pair{run_is_over("the run is finished"), true},
        std::pair{run_is_over("the run is finished"), false},
        std::pair{
          verdict{verdict_kind::refused, "the run failed: the disk is full", refusal_code{74}},
          true}}) {
    pair_of_greetings x;
    (is_dialled ? x.a : x.b).refuse_all(over);
    carry(x.b, x.a);
    if (!is_dialled)
      x.a.on_answer({});
    carry(x.a, x.b);
    carry(x.b, x.a);
    EXPECT_EQ(x.a.outcome(), over);
    EXPECT_EQ(x.b.outcome(), over);
  }
}

TEST(hello, who_differs_hears_that_and_not_that_the_run_is_over) {
  auto facts = facts_of("b");
  facts.arithmetic = "another";
  greeting a{facts_of("a"), three_nodes()};
  greeting b{facts, three_nodes(), "a"};
  a.refuse_all(run_is_over("the run is finished"));
  carry(b, a);
  carry(a, b);
  EXPECT_EQ(b.outcome().code, refusal_code::mismatch);
}

TEST(hello, a_flipped_bit_anywhere_makes_it_no_hello) {
  auto facts = facts_of("b");
  facts.term = 7;
  for (const auto& line :
       {hello_line{facts, verdict{}}, hello_line{facts, {}}, hello_line{{}, verdict{}},
        hello_line{{}, verdict{verdict_kind::refused, "full", refusal_code::mismatch}}}) {
    const auto text = write_hello(line);
    for (size_t bit = 0; bit < 8 * (text.size() - 1); ++bit) {
      auto damaged = text.substr(0, text.size() - 1);
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      const auto found = read_hello(damaged);
      EXPECT_TRUE(!found || found == line) << damaged;
    }
  }
}

TEST(hello, nothing_a_stranger_sends_does_harm) {
  std::mt19937_64 random{7};
  const auto good = write_hello({facts_of("b"), verdict{}});
  for (int i = 0; i < 2'000; ++i) {
    auto text = good;
    for (uint64_t k = random() % 8; k > 0; --k)
      text[random() % text.size()] = static_cast<char>(random());
    read_hello(text);
    greeting a{facts_of("a"), three_nodes()};
    a.on_bytes(text);
    a.on_answer({});
  }
  for (const auto* text : {"[[[[[[[[", R"({"troupe":-1})", R"({"troupe":1e999})", "null", "\xff",
                           R"({"answer":7})", R"({"answer":{"verdict":"refused"}})",
                           R"({"answer":{"verdict":"refused","reason":"x","exit_code":3}})"})
    EXPECT_FALSE(read_hello(text)) << text;
}

TEST(hello, a_reason_is_short_and_cannot_move_a_terminal) {
  const auto reason_of = [](const std::string& json_text) {
    const auto line = read_hello(R"({"answer":{"verdict":"refused","reason":")" + json_text +
                                 R"(","exit_code":77}})");
    return line && line->answer ? line->answer->reason : "none";
  };
  EXPECT_EQ(reason_of(R"(a\u001b[2Jb\nc)"), "a [2Jb c");
  EXPECT_EQ(reason_of(R"(a\u009b2Jb)"), "a 2Jb") << "one character that begins a sequence, too";
  EXPECT_EQ(reason_of("gr\u00fc\u00dfe"), "gr\u00fc\u00dfe");
  EXPECT_EQ(reason_of(std::string(5'000, 'x')).size(), reason_bytes_max);
}

TEST(greeting, both_sides_agree) {
  pair_of_greetings x;
  carry(x.b, x.a);
  EXPECT_EQ(x.a.state(), greeting::phase::asking);
  EXPECT_EQ(x.a.output(), "") << "nothing is said before the name is known to be free";
  x.a.on_answer({});
  carry(x.a, x.b);
  EXPECT_EQ(x.b.state(), greeting::phase::over);
  EXPECT_EQ(x.a.state(), greeting::phase::talking) << "the other side may still refuse";
  carry(x.b, x.a);
  EXPECT_EQ(x.a.state(), greeting::phase::over);
  EXPECT_TRUE(x.a.outcome().is_admitted() && x.b.outcome().is_admitted());
}

TEST(greeting, lines_may_come_in_pieces) {
  pair_of_greetings x;
  const auto text = std::exchange(x.b.output(), {});
  for (char c : text) {
    EXPECT_EQ(x.a.state(), greeting::phase::talking);
    x.a.on_bytes({&c, 1});
  }
  EXPECT_EQ(x.a.state(), greeting::phase::asking);
}

TEST(greeting, a_refusal_reaches_the_other_side) {
  pair_of_greetings x;
  carry(x.b, x.a);
  x.a.on_answer(name_in_use("b"));
  carry(x.a, x.b);
  EXPECT_EQ(x.b.outcome(), name_in_use("b"));
  EXPECT_EQ(x.a.outcome(), name_in_use("b"));
  EXPECT_EQ(x.b.output(), "");
}

TEST(greeting, the_dialling_side_refuses_too) {
  auto facts = facts_of("a");
  pair_of_greetings x;
  facts.arithmetic = "another";
  carry(x.b, x.a);
  x.b.on_bytes(write_hello({facts, verdict{}})); // who admits it all the same
  EXPECT_EQ(x.b.outcome().code, refusal_code::mismatch);
  x.a.on_answer({});
  carry(x.b, x.a);
  EXPECT_EQ(x.a.outcome(), x.b.outcome());
}

TEST(greeting, who_is_found_at_the_address_of_another_is_told_so_and_not_refused) {
  greeting c{facts_of("c"), three_nodes()};
  greeting a{facts_of("a"), three_nodes(), "b"};
  carry(a, c);
  c.on_answer({});
  carry(c, a);
  carry(a, c);
  for (const auto* side : {&a, &c}) {
    ASSERT_EQ(side->state(), greeting::phase::over);
    EXPECT_EQ(side->outcome().kind, verdict_kind::later);
    EXPECT_EQ(side->outcome().reason, "the process at the address of b is c");
  }
}

TEST(greeting, what_another_process_says_at_an_address_is_not_believed) {
  greeting a{facts_of("a"), three_nodes(), "b"};
  a.on_bytes(write_hello({facts_of("c"), run_is_over("the run is finished")}));
  ASSERT_EQ(a.state(), greeting::phase::over);
  EXPECT_EQ(a.outcome().kind, verdict_kind::later);
}

TEST(greeting, whoever_is_no_process_of_ours_is_quoted_to_who_dialled_it) {
  for (const std::string text :
       {"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"}) {
    greeting b{facts_of("b"), three_nodes(), "a"};
    b.on_bytes(text);
    EXPECT_EQ(b.problem(), "it is no process of troupe: it says 'HTTP/1.1 400 Bad Request'");
    greeting a{facts_of("a"), three_nodes()};
    a.on_bytes(text);
    EXPECT_EQ(a.problem(), "it is no process of troupe") << "strangers fill no log";
  }
}

TEST(greeting, a_line_without_an_end_is_cut_off) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes(std::string(hello_bytes_max - 1, ' '));
  EXPECT_EQ(a.state(), greeting::phase::talking);
  a.on_bytes(" ");
  EXPECT_EQ(a.state(), greeting::phase::broken);
}

TEST(greeting, who_does_not_wait_for_its_turn_is_cut_off) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes(write_hello({facts_of("b"), {}}) + "x");
  EXPECT_EQ(a.state(), greeting::phase::broken);
  pair_of_greetings x;
  carry(x.b, x.a);
  x.a.on_bytes("x");
  EXPECT_EQ(x.a.state(), greeting::phase::broken);
}

TEST(greeting, an_answer_before_the_hello_is_cut_off) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes(write_hello({{}, verdict{}}));
  EXPECT_EQ(a.state(), greeting::phase::broken);
  greeting b{facts_of("b"), three_nodes(), "a"};
  b.on_bytes(write_hello({facts_of("a"), {}}));
  EXPECT_EQ(b.state(), greeting::phase::broken);
}

TEST(greeting, who_comes_with_a_name_must_have_proven_it) {
  pair_of_greetings x;
  x.a.on_proof({"c"});
  x.b.on_proof({"a"});
  carry(x.b, x.a);
  EXPECT_FALSE(read_hello(std::string_view{x.a.output()}.substr(0, x.a.output().size() - 1))->facts)
    << "it learns nothing";
  carry(x.a, x.b);
  for (const auto* side : {&x.a, &x.b}) {
    ASSERT_EQ(side->state(), greeting::phase::over);
    EXPECT_EQ(side->outcome(), admit_proof("b", {"c"}));
  }
  EXPECT_FALSE(x.a.peer()) << "who lies about its name has none";
}

TEST(greeting, who_was_dialled_must_prove_its_name_before_anything_is_said) {
  for (const auto& names : {std::vector<std::string>{"c"}, {"visitor"}, {}}) {
    pair_of_greetings x;
    x.b.on_proof(names);
    EXPECT_FALSE(x.b.believes());
    EXPECT_FALSE(
      read_hello(std::string_view{x.b.output()}.substr(0, x.b.output().size() - 1))->facts)
      << "it learns nothing";
    for (const auto& word : {run_is_over("finished"), name_in_use("b")})
      x.b.on_bytes(write_hello({facts_of("a"), word}));
    ASSERT_EQ(x.b.state(), greeting::phase::over);
    EXPECT_EQ(x.b.outcome().kind, verdict_kind::later) << "nothing it says counts";
    EXPECT_EQ(x.b.outcome().reason, admit_proof("a", names).reason);
  }
}

TEST(greeting, whoever_begins_to_secure_a_plain_connection_is_told) {
  greeting a{facts_of("a"), three_nodes()};
  a.on_bytes("\x16\x03\x01");
  ASSERT_EQ(a.state(), greeting::phase::over);
  EXPECT_EQ(a.outcome(), comes_secured("a"));
  greeting b{facts_of("b"), three_nodes(), "a"};
  b.on_bytes(a.output());
  EXPECT_EQ(b.outcome(), comes_secured("a"));
}

TEST(greeting, an_answer_without_a_hello_can_only_refuse) {
  greeting b{facts_of("b"), three_nodes(), "a"};
  b.on_bytes(write_hello({{}, verdict{}}));
  EXPECT_EQ(b.state(), greeting::phase::broken);
}

} // namespace
} // namespace troupe::hello_test
