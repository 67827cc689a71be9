#include "troupe/tests/support/gates.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe {

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
  for (const auto* key : {"node", "incarnation", "director", "job_sha256", "data", "numerics",
                          "course", "term", "process", "version"}) {
    auto lacking = text.substr(0, text.size() - 1);
    lacking.replace(lacking.find('"' + std::string{key} + '"'), 2, "\"_");
    EXPECT_FALSE(read_hello(lacking)) << key;
  }
}

TEST(hello, another_protocol_is_understood_as_far_as_to_refuse_it) {
  const auto line = read_hello(R"({"troupe":2,"node":"b"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(admit(facts_of("a"), *line->facts, three_nodes()).code, refusal_code::mismatch);
}

TEST(hello, a_run_that_is_over_says_so_to_who_could_have_taken_part) {
  const auto over = run_is_over("the run is finished");
  for (const bool is_dialled : {true, false}) {
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
  facts.numerics = "another class";
  greeting a{facts_of("a"), three_nodes()};
  greeting b{facts, three_nodes(), "a"};
  a.refuse_all(run_is_over("the run is finished"));
  carry(b, a);
  carry(a, b);
  EXPECT_EQ(b.outcome().code, refusal_code::mismatch);
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
                           R"({"answer":{"verdict":"refused","reason":"x","exit_code":1}})"})
    EXPECT_FALSE(read_hello(text)) << text;
}

TEST(hello, a_reason_cannot_move_a_terminal) {
  const auto line =
    read_hello(R"({"answer":{"verdict":"refused","reason":"a\u001b[2Jb\nc","exit_code":77}})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->answer->reason, "a [2Jb c");
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
  greeting c{facts_of("c"), three_nodes()};
  greeting a{facts_of("a"), three_nodes(), "b"};
  carry(a, c);
  c.on_answer({});
  carry(c, a);
  EXPECT_FALSE(a.outcome().is_admitted());
  carry(a, c);
  EXPECT_EQ(c.outcome(), a.outcome());
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

TEST(greeting, a_name_must_be_a_proven_one) {
  for (const bool a_lies : {true, false}) {
    pair_of_greetings x;
    x.a.on_proof({"b"});
    x.b.on_proof({"a"});
    if (a_lies)
      x.b.on_proof({"c"});
    else
      x.a.on_proof({"c"});
    carry(x.b, x.a);
    if (a_lies)
      x.a.on_answer({});
    carry(x.a, x.b);
    carry(x.b, x.a);
    for (const auto* side : {&x.a, &x.b}) {
      ASSERT_EQ(side->state(), greeting::phase::over);
      EXPECT_EQ(side->outcome(), admit_proof(a_lies ? "a" : "b", {"c"}));
    }
    EXPECT_EQ(x.a.peer().has_value(), a_lies) << "who lies about its name has none";
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

} // namespace troupe
