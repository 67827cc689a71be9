// The verdict table, and what is asked for, in each of the three forms.

#include "coordinators/exchange/expected_tensor.hpp"

#include "tests/support/exchange/exchange_wire.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace troupe::expected_tensor_test {
namespace {

using namespace test;
using namespace std::chrono_literals;
using enum piece_verdict;
using ranges = std::vector<index_range>;

constexpr index_range span{10, 30};
constexpr peer_id a{1};
constexpr peer_id b{2};

tensor_memory memory_of(const index_range& elements) {
  return [=](const tensor_name&) { return float_window{buffer{elements.size()}, elements.begin}; };
}

expectation state_at_7() {
  expectation what;
  what.kind = tensor_kind::state;
  what.key = 7;
  what.elements = span;
  what.parts = {0, 2};
  what.sources = {{peer_id::director, span}};
  what.memory = memory_of(span);
  return what;
}

expectation sums_of_step_3() {
  expectation what;
  what.kind = tensor_kind::gradient;
  what.key = 3;
  what.elements = span;
  what.leaf_count = 4;
  what.sources = {{a, span, {0, 2}}, {b, span, {2, 4}}};
  what.memory = memory_of(span);
  return what;
}

expectation versions_from(uint64_t first) {
  expectation what;
  what.kind = tensor_kind::parameters;
  what.key = first;
  what.elements = span;
  what.newest = true;
  what.last_key = 20;
  what.sources = {{a, {10, 20}}, {b, {20, 30}}};
  what.memory = memory_of(span);
  return what;
}

tensor_piece piece(const tensor_name& name, const index_range& elements) {
  return over_the_wire({name, elements.begin, true_values(name, elements), true_note(name), {}},
                       {});
}

tensor_name state(uint64_t part, uint64_t key = 7) {
  return {tensor_kind::state, 1, key, only_leaf, part};
}

tensor_name sum(const tree_node& node, uint64_t key = 3) {
  return {tensor_kind::gradient, 1, key, node};
}

tensor_name version(uint64_t key) {
  return {tensor_kind::parameters, 1, key};
}

std::vector<tensor_arrived> arrived(expected_tensor& x) {
  std::vector<exchange_effect> effects;
  x.take_arrived(effects);
  std::vector<tensor_arrived> result;
  for (const auto& effect : effects)
    result.push_back(std::get<tensor_arrived>(effect));
  return result;
}

struct question {
  peer_id to;
  tensor_want what;
  friend bool operator==(const question&, const question&) = default;
};

std::vector<question> questions(const expected_tensor& x) {
  std::vector<question> result;
  x.ask(1, [&](peer_id to, tensor_want&& what) { result.push_back({to, std::move(what)}); });
  return result;
}

/// What comes of a piece at a fresh expectation of the state.
piece_verdict verdict_of(const tensor_piece& x) {
  return expected_tensor{state_at_7(), {}}.offer(x, {});
}

// ---- the table ----

TEST(expected_tensor, names_that_are_not_expected_do_nothing) {
  EXPECT_EQ(verdict_of(piece(state(0), {10, 12})), accepted);
  EXPECT_EQ(verdict_of(piece(state(1), {10, 12})), accepted);
  EXPECT_EQ(verdict_of(piece(state(2), {10, 12})), unexpected) << "a part there is not";
  EXPECT_EQ(verdict_of(piece(state(0, 6), {10, 12})), stale);
  EXPECT_EQ(verdict_of(piece(state(0, 8), {10, 12})), early);
  auto name = state(0);
  for (const tree_node node : {tree_node{0, 2}, {1, 2}, {0, 0}, {1, 0}, {0, SIZE_MAX}}) {
    name.node = node;
    EXPECT_EQ(verdict_of(piece(name, {10, 12})), malformed) << "it is no sum";
  }
}

TEST(expected_tensor, elements_outside_are_unexpected_and_those_within_count) {
  EXPECT_EQ(verdict_of(piece(state(0), {0, 10})), unexpected);
  EXPECT_EQ(verdict_of(piece(state(0), {30, 40})), unexpected);
  expected_tensor x{state_at_7(), {}};
  EXPECT_EQ(x.offer(piece(state(0), {0, 40}), {}), accepted);
  EXPECT_EQ(arrived(x).at(0).values, true_values(state(0), span));
}

TEST(expected_tensor, damage_is_refused_and_takes_no_memory) {
  auto what = state_at_7();
  size_t asked = 0;
  what.memory = [&](const tensor_name&) {
    ++asked;
    return float_window{buffer{span.size()}, span.begin};
  };
  expected_tensor x{what, {}};
  const auto good = piece(state(0), span);
  auto bad = over_the_wire(good, 77);
  EXPECT_EQ(x.offer(bad, {}), damaged);
  EXPECT_EQ(asked, 0u);
  EXPECT_EQ(x.arriving_count(), 0u);
  EXPECT_EQ(x.offer(good, {}), accepted);
  EXPECT_EQ(x.offer(bad, {}), damaged) << "and is no conflict";
  EXPECT_EQ(asked, 1u);
}

TEST(expected_tensor, what_is_known_is_compared) {
  expected_tensor x{state_at_7(), {}};
  const auto good = piece(state(0), {10, 20});
  EXPECT_EQ(x.offer(good, {}), accepted);
  EXPECT_EQ(x.offer(good, {}), known);
  EXPECT_EQ(x.offer(piece(state(0), {12, 14}), {}), known);
  auto other = good;
  other.values = true_values(state(1), {10, 20});
  EXPECT_EQ(x.offer(other, {}), conflict);
  auto other_facts = piece(state(0), {15, 30});
  other_facts.note.facts[2] ^= 1;
  EXPECT_EQ(x.offer(other_facts, {}), conflict);
  auto other_remark = piece(state(0), {15, 30});
  other_remark.note.remarks = {5, 0};
  EXPECT_EQ(x.offer(other_remark, {}), accepted) << "whatever people are told";
  EXPECT_EQ(arrived(x).at(0).note.remarks[0], 5u);
}

// ---- plain ----

TEST(expected_tensor, is_complete_when_every_part_is_whole) {
  expected_tensor x{state_at_7(), {}};
  x.offer(piece(state(1), {20, 30}), {});
  EXPECT_TRUE(arrived(x).empty());
  x.offer(piece(state(1), {10, 25}), {});
  auto news = arrived(x);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].values, true_values(state(1), span));
  EXPECT_FALSE(news[0].complete || news[0].jump);
  EXPECT_EQ(news[0].elements, span);
  x.offer(piece(state(0), span), {});
  EXPECT_TRUE(arrived(x).at(0).complete);
  EXPECT_TRUE(arrived(x).empty()) << "told once";
}

TEST(expected_tensor, asks_for_what_is_missing_part_by_part) {
  expected_tensor x{state_at_7(), {}};
  x.offer(piece(state(1), {12, 14}), {});
  EXPECT_EQ(questions(x),
            (std::vector<question>{{peer_id::director, {state(0), {span}}},
                                   {peer_id::director, {state(1), {{10, 12}, {14, 30}}}}}));
  x.offer(piece(state(1), span), {});
  x.offer(piece(state(0), span), {});
  EXPECT_TRUE(questions(x).empty());
}

TEST(expected_tensor, asks_after_silence_only_or_at_once) {
  auto what = state_at_7();
  expected_tensor x{what, moment{}};
  EXPECT_FALSE(x.due(moment{} + 199ms));
  EXPECT_TRUE(x.due(moment{} + 200ms));
  EXPECT_FALSE(x.due(moment{} + 599ms));
  EXPECT_EQ(x.offer(piece(state(0), {10, 12}), moment{} + 599ms), accepted);
  EXPECT_FALSE(x.due(moment{} + 700ms)) << "something new came";
  EXPECT_EQ(x.offer(piece(state(0), {10, 12}), moment{} + 710ms), known);
  EXPECT_TRUE(x.due(moment{} + 799ms)) << "nothing new came";
  x.offer(piece(state(0), span), moment{} + 800ms);
  x.offer(piece(state(1), span), moment{} + 800ms);
  EXPECT_FALSE(x.due(moment{} + 10s)) << "nothing is missing";
  what.comes_unasked = false;
  expected_tensor unasked{what, moment{}};
  EXPECT_TRUE(unasked.due(moment{}));
}

TEST(expected_tensor, sources_are_asked_for_their_elements) {
  auto what = state_at_7();
  what.parts = {0, 1};
  what.sources = {{a, {0, 15}}, {b, {15, 50}}, {a, {50, 60}}};
  expected_tensor x{what, {}};
  EXPECT_EQ(questions(x),
            (std::vector<question>{{a, {state(0), {{10, 15}}}}, {b, {state(0), {{15, 30}}}}}));
  x.set_sources({{b, span}});
  EXPECT_EQ(questions(x), (std::vector<question>{{b, {state(0), {span}}}}));
}

// ---- sums ----

TEST(expected_tensor, every_node_of_the_tree_may_come) {
  expected_tensor x{sums_of_step_3(), {}};
  EXPECT_EQ(x.offer(piece(sum({1, 3}), span), {}), malformed) << "no node";
  EXPECT_EQ(x.offer(piece(sum({0, 8}), span), {}), malformed);
  EXPECT_EQ(x.offer(piece(sum({0, 1}), span), {}), accepted);
  EXPECT_EQ(x.offer(piece(sum({2, 4}), span), {}), accepted);
  const auto news = arrived(x);
  ASSERT_EQ(news.size(), 2u);
  EXPECT_EQ(news[0].values, true_values(sum({0, 1}), span));
  EXPECT_EQ(news[1].of, sum({2, 4}));
  EXPECT_FALSE(news[1].complete);
}

TEST(expected_tensor, a_sum_within_a_whole_one_is_known) {
  expected_tensor x{sums_of_step_3(), {}};
  x.offer(piece(sum({0, 1}), {10, 12}), {});
  EXPECT_EQ(x.arriving_count(), 1u);
  x.offer(piece(sum({0, 2}), {10, 12}), {});
  EXPECT_EQ(x.offer(piece(sum({0, 1}), {12, 14}), {}), accepted) << "not whole yet";
  x.offer(piece(sum({0, 2}), span), {});
  EXPECT_EQ(x.arriving_count(), 1u) << "nobody needs the rest of its parts";
  EXPECT_EQ(x.offer(piece(sum({0, 1}), {14, 16}), {}), known);
  EXPECT_EQ(x.arriving_count(), 1u);
}

TEST(expected_tensor, leaves_are_missing_until_a_whole_sum_covers_them) {
  expected_tensor x{sums_of_step_3(), {}};
  EXPECT_EQ(questions(x),
            (std::vector<question>{{a, {sum({0, 2}), {span}}}, {b, {sum({2, 4}), {span}}}}));
  x.offer(piece(sum({2, 3}), span), {});
  x.offer(piece(sum({0, 2}), {10, 20}), {});
  EXPECT_EQ(questions(x),
            (std::vector<question>{{a, {sum({0, 2}), {{20, 30}}}}, {b, {sum({3, 4}), {span}}}}));
  x.offer(piece(sum({0, 4}), span), {});
  EXPECT_TRUE(questions(x).empty());
}

// The rest of a sum may be nobody's any more: then what came of others lacks the other elements.
TEST(expected_tensor, sums_that_were_begun_by_others_are_asked_for_until_one_is_whole) {
  expected_tensor x{sums_of_step_3(), {}};
  x.offer(piece(sum({0, 2}), {10, 20}), {});
  x.set_sources({{b, span, {0, 4}}});
  x.offer(piece(sum({0, 1}), {20, 30}), {});
  x.offer(piece(sum({1, 2}), {20, 30}), {});
  const auto asked = questions(x);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].what.elements, (ranges{span}));
}

// ---- the newest ----

TEST(expected_tensor, versions_become_whole_one_by_one) {
  expected_tensor x{versions_from(5), {}};
  EXPECT_EQ(x.offer(piece(version(4), span), {}), stale);
  EXPECT_EQ(x.offer(piece(version(21), span), {}), malformed) << "beyond the last";
  x.offer(piece(version(6), {10, 20}), {});
  x.offer(piece(version(5), span), {});
  auto news = arrived(x);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_FALSE(news[0].jump);
  EXPECT_EQ(x.key(), 6u);
  EXPECT_EQ(x.offer(piece(version(5), span), {}), stale);
  x.offer(piece(version(6), {20, 30}), {});
  news = arrived(x);
  ASSERT_EQ(news.size(), 1u) << "what had come of it stayed";
  EXPECT_EQ(news[0].values, true_values(version(6), span));
  EXPECT_FALSE(news[0].jump);
}

TEST(expected_tensor, the_highest_that_becomes_whole_is_a_jump) {
  expected_tensor x{versions_from(5), {}};
  x.offer(piece(version(5), {10, 20}), {});
  x.offer(piece(version(9), span), {});
  const auto news = arrived(x);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_TRUE(news[0].jump);
  EXPECT_EQ(x.key(), 10u);
  EXPECT_EQ(x.arriving_count(), 0u);
}

TEST(expected_tensor, three_versions_are_gathered_at_a_time) {
  expected_tensor x{versions_from(5), {}};
  for (const uint64_t key : {6u, 8u, 7u})
    EXPECT_EQ(x.offer(piece(version(key), {10, 12}), {}), accepted);
  EXPECT_EQ(x.offer(piece(version(5), {10, 12}), {}), stale) << "no room for an older one";
  EXPECT_EQ(x.offer(over_the_wire(piece(version(9), {10, 12}), 3), {}), damaged);
  EXPECT_EQ(x.offer(piece(version(6), {12, 14}), {}), accepted) << "it made no room";
  EXPECT_EQ(x.offer(piece(version(9), {10, 12}), {}), accepted);
  EXPECT_EQ(x.offer(piece(version(6), {14, 16}), {}), stale) << "it had to go";
  EXPECT_EQ(x.arriving_count(), gathered_keys_max);
}

TEST(expected_tensor, the_wanted_version_is_asked_for_or_newer_and_what_came_of_newer_ones) {
  expected_tensor x{versions_from(5), {}};
  x.offer(piece(version(5), {10, 25}), {});
  x.offer(piece(version(7), {10, 20}), {});
  EXPECT_EQ(questions(x), (std::vector<question>{{b, {version(5), {{25, 30}}, true}},
                                                 {b, {version(7), {{20, 30}}, false}}}));
}

TEST(expected_tensor, nothing_is_asked_for_beyond_the_last_version) {
  expected_tensor x{versions_from(20), {}};
  x.offer(piece(version(20), span), {});
  EXPECT_TRUE(questions(x).empty());
  EXPECT_EQ(x.offer(piece(version(20), span), {}), stale);
}

TEST(expected_tensor, the_newest_has_one_part_and_is_no_sum) {
  auto what = versions_from(0);
  what.parts = {0, 2};
  EXPECT_THROW((expected_tensor{what, {}}), std::invalid_argument);
  what.parts = {0, 1};
  what.leaf_count = 2;
  EXPECT_THROW((expected_tensor{what, {}}), std::invalid_argument);
}

// ---- memory ----

TEST(expected_tensor, memory_that_is_too_small_is_an_error) {
  auto what = state_at_7();
  what.memory = [](const tensor_name&) {
    return float_window{buffer{span.size() - 1}, span.begin};
  };
  expected_tensor x{what, {}};
  EXPECT_THROW(x.offer(piece(state(0), {10, 12}), {}), std::invalid_argument);
}

TEST(expected_tensor, values_that_lie_in_place_are_shared_when_they_may_be) {
  auto what = state_at_7();
  what.may_share = true;
  const buffer whole{40}; // of elements 0..40
  for (size_t e = 0; e < whole.size(); ++e)
    whole.values()[e] = true_value(state(0), e);
  const auto in_place = [&](const index_range& r) {
    return tensor_piece{state(0), r.begin, {whole, r.begin, r.size()}, true_note(state(0)), {}};
  };
  expected_tensor shares{what, {}};
  shares.offer(in_place({10, 20}), {});
  shares.offer(in_place({20, 30}), {});
  EXPECT_TRUE(arrived(shares).at(0).values.storage().same_storage(whole));
  expected_tensor copies{what, {}};
  copies.offer(in_place({10, 20}), {});
  copies.offer(piece(state(0), {20, 25}), {});
  copies.offer(in_place({25, 30}), {});
  const auto values = arrived(copies).at(0).values;
  EXPECT_FALSE(values.storage().same_storage(whole)) << "one piece lay elsewhere";
  EXPECT_EQ(values, true_values(state(0), span));
  what.may_share = false;
  expected_tensor may_not{what, {}};
  may_not.offer(in_place(span), {});
  EXPECT_FALSE(arrived(may_not).at(0).values.storage().same_storage(whole));
}

} // namespace
} // namespace troupe::expected_tensor_test
