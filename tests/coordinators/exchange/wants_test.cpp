// Wants: answered from what is kept, whatever they say.

#include "troupe/tests/support/exchange/one_exchange.hpp"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

namespace troupe {

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

} // namespace troupe
