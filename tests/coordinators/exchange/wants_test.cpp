// Wants: answered from what is kept, whatever they say.

#include "tests/support/exchange/one_exchange.hpp"

#include <gtest/gtest.h>

namespace troupe::wants_test {

using namespace test;

TEST_F(exchange_test, wants_are_answered_from_what_is_kept_and_told) {
  for (const uint64_t key : {0u, 1u, 2u})
    publish(kept(version(key), {10, 30}), {});
  want(version(1), {{0, 12}, {28, 99}});
  x.take_effects(effects);
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_EQ(std::get<tensor_asked>(effects[0]).by, a);
  EXPECT_EQ(std::get<send_piece>(effects[1]).what.values, true_values(version(1), {10, 12}));
  EXPECT_EQ(std::get<send_piece>(effects[2]).what.first_element, 28u);
  EXPECT_EQ(x.figures().resends, 2u);
  want(version(1), {{10, 20}}, true);
  x.on_credit(a, {5, 4 * sizeof(float)}, now);
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].what.of, version(2)) << "or newer";
}

TEST_F(exchange_test, a_want_for_sums_means_all_that_have_one_of_its_leaves) {
  publish(kept(gradient(3, {0, 2}), {0, 5}), {});
  publish(kept(gradient(3, {2, 3}), {0, 5}), {});
  publish(kept(gradient(3, {3, 4}), {0, 5}), {});
  want(gradient(3, {1, 3}), {all});
  const auto pieces = taken<send_piece>();
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].what.of.node, (tree_node{0, 2}));
  EXPECT_EQ(pieces[1].what.of.node, (tree_node{2, 3}));
}

TEST_F(exchange_test, odd_wants_cost_nothing) {
  publish(kept(version(0)), {});
  const auto before = x;
  want(version(0), {{30, 20}, {40, SIZE_MAX}, {SIZE_MAX, 0}, {7, 7}});
  want(version(0, 2), {all});
  EXPECT_EQ(taken<tensor_asked>().size(), 1u) << "another term is nobody's";
  x.send(a, version(0, 2), all, now);
  want({tensor_kind::parameters, 1, 0, {1, 0}}, {all});
  want({tensor_kind::parameters, 1, 0, only_leaf, UINT64_MAX}, {all}, true);
  x.on_want(peer_id{99}, {version(0), {all}}, now);
  EXPECT_TRUE(taken<send_piece>().empty());
  EXPECT_EQ(x, before);
}

// It may overtake a credit that was told before, which goes another way.
TEST_F(exchange_test, what_a_want_says_has_come_is_not_under_way) {
  publish(kept(version(0)), {{a, {0, 10}}});
  taken<send_piece>();
  want(version(0), {{0, 20}});
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{10, 20}}));
  x.on_want(a, {version(0), {{0, 20}}, false, false, {5, piece_bytes}}, now);
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{0, 10}}));
  x.on_want(a, {version(0), {{0, 20}}, false, false, {4, 3 * piece_bytes}}, now);
  EXPECT_TRUE(taken<send_piece>().empty()) << "of an earlier link";
}

TEST_F(exchange_test, wants_are_answered_up_to_a_number_of_ranges) {
  const auto name = version(0);
  const index_range many{0, 3 * want_ranges_max};
  x.publish(kept(name, many), {}, now);
  ranges every_second;
  for (size_t e = 0; e < many.end; e += 2)
    every_second.push_back({e, e + 1});
  want(name, every_second);
  const auto figures = x.figures();
  EXPECT_EQ(figures.ranges_waiting + figures.bytes_under_way / sizeof(float), want_ranges_max);
}

TEST_F(exchange_test, wants_add_nothing_to_a_link_on_which_much_waits) {
  const index_range many{0, 8 * waiting_ranges_max};
  publish(kept(version(0), many), {});
  for (size_t first = 0; first < many.end; first += 2 * want_ranges_max) {
    ranges every_second;
    for (size_t e = first; e < first + 2 * want_ranges_max; e += 2)
      every_second.push_back({e, e + 1});
    want(version(0), every_second);
  }
  EXPECT_LE(x.figures().ranges_waiting, waiting_ranges_max);
  EXPECT_GE(x.figures().ranges_waiting, waiting_ranges_max - 1);
}

// ---- What is fetched, and what goes once it has come ----

TEST_F(exchange_test, what_has_come_is_let_go_of_when_all_of_it_has) {
  auto what = kept(gradient(0));
  what.until_it_came = true;
  publish(what, {{a, all}});
  publish(kept(gradient(1)), {});
  x.on_want(a, {gradient(0), {{0, 25}}, false, true}, now);
  EXPECT_EQ(x.figures().tensors_kept, 2u) << "the rest may be asked for";
  x.on_want(a, {gradient(0), {{20, 60}}, false, true}, now);
  x.on_want(a, {gradient(1), {all}, false, true}, now);
  EXPECT_EQ(x.figures().tensors_kept, 1u) << "the other is kept until it is forgotten";
  EXPECT_TRUE(taken<tensor_asked>().empty()) << "nobody misses anything";
}

TEST_F(exchange_test, whoever_sent_the_last_of_it_is_told_that_it_came) {
  expectation what;
  what.kind = tensor_kind::gradient;
  what.elements = {0, 20};
  what.leaf_count = 2;
  what.tells = true;
  what.memory = [](const tensor_name&) { return float_window{buffer{20}}; };
  x.expect(what, now);
  const auto first = kept(gradient(0, {0, 2}), {0, 10});
  const auto second = kept(gradient(0, {0, 2}), {10, 40});
  x.on_piece(a, {first.of, 0, first.values, first.note, {}}, now);
  EXPECT_TRUE(taken<send_want>().empty());
  x.on_piece(b, {second.of, 10, second.values, second.note, {}}, now);
  const auto said = taken<send_want>();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].to, b);
  EXPECT_EQ(said[0].what, (tensor_want{gradient(0, {0, 2}), {{0, 20}}, false, true}));
}

TEST_F(exchange_test, what_is_fetched_is_no_repair_unless_it_is_asked_for_again) {
  auto what = kept(version(3));
  what.is_fetched = true;
  publish(what, {});
  want(version(3), {{0, 10}});
  EXPECT_EQ(elements_of(taken<send_piece>()), (ranges{{0, 10}}));
  EXPECT_EQ(x.figures().resends, 0u);
  want(version(3), {{10, 11}}, true);
  EXPECT_EQ(x.figures().resends, 1u) << "the newest is announced unasked";
  expectation fetched;
  fetched.kind = tensor_kind::parameters;
  fetched.key = 2;
  fetched.elements = all;
  fetched.sources = {{b, all}};
  fetched.comes_unasked = false;
  fetched.is_fetched = true;
  x.expect(fetched, now);
  x.tick(now);
  EXPECT_EQ(taken<send_want>().size(), 1u) << "at once";
  EXPECT_EQ(x.figures().resends, 1u);
  x.tick(now + want_delay_min);
  EXPECT_EQ(taken<send_want>().size(), 1u);
  EXPECT_EQ(x.figures().resends, 2u);
}

TEST_F(exchange_test, one_of_two_that_overlap_is_dismissed_by_its_own_elements) {
  for (const auto& elements : {index_range{0, 40}, index_range{10, 20}}) {
    expectation what;
    what.kind = tensor_kind::parameters;
    what.key = 2;
    what.elements = elements;
    what.sources = {{b, elements}};
    what.comes_unasked = false;
    x.expect(what, now);
  }
  x.dismiss(tensor_kind::parameters, only_key(2), {0, 40}, true);
  ASSERT_EQ(x.awaited().size(), 1u);
  EXPECT_EQ(x.awaited()[0].what.elements, (ranges{{10, 20}}));
}

} // namespace troupe::wants_test
