// A node and its credit: what goes to a neighbour that does not read, and what waits.

#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe::node_credit_test {

namespace {

using test::asking;
using test::pieces_of;
using test::played_node;
using namespace std::chrono_literals;

constexpr size_t here = played_node::here_count;
constexpr size_t piece_bytes = played_node::piece_elements * sizeof(float);

/// Room for two pieces on each link.
constexpr size_t two_pieces = 2 * piece_bytes;

/// All that has come up to the last piece.
sent_credit credit_of(const speaker& by, const std::vector<sent_piece>& pieces) {
  return {{by, pieces.back().what.stamp}};
}

sent_credit credit_there(const std::vector<sent_piece>& pieces) {
  return credit_of(played_node::from_there(), pieces);
}

sent_want asking_there(uint64_t term = 1) {
  return asking(played_node::from_there(), tensor_kind::parameters, 0, term);
}

} // namespace

TEST(node_credit, pieces_wait_until_the_neighbour_has_seen_those_before) {
  played_node run{0, two_pieces};
  run.begin();
  run.tell(played_node::span_here(0)); // three pieces
  ASSERT_EQ(run.there.pieces.size(), 2u);
  EXPECT_EQ(run.there.pieces[0].what.stamp, (link_position{9, piece_bytes}));
  EXPECT_EQ(run.there.pieces[1].what.stamp, (link_position{9, 2 * piece_bytes}));
  for (int i = 0; i < 3; ++i)
    run.tell(asking_there());
  EXPECT_EQ(run.there.pieces.size(), 2u) << "wanting is no credit";
  run.tell(credit_there(run.there.pieces));
  EXPECT_EQ(run.there.pieces.size(), 3u) << "and queues nothing twice";
  EXPECT_EQ(run.there.pieces[2].what.values.size(), here - 3000);
}

TEST(node_credit, without_credit_the_neighbour_is_asked_what_has_come) {
  played_node run{0, two_pieces};
  run.begin();
  run.tell(played_node::span_here(0));
  run.wait(150ms);
  EXPECT_TRUE(run.there.stamps.empty());
  run.wait(100ms);
  ASSERT_EQ(run.there.stamps.size(), 1u);
  EXPECT_EQ(run.there.stamps[0], (sent_stamp{{{"here", false}, {9, two_pieces}}}));
}

TEST(node_credit, wants_do_not_wait_and_norms_do_as_all_that_holds_values) {
  played_node run{0, two_pieces};
  run.begin();
  run.tell(played_node::span_here(0));
  run.tell(block_sums{0, 0, {4}});
  EXPECT_TRUE(pieces_of(run.there, tensor_kind::block_sums).empty());
  run.wait(250ms);
  EXPECT_FALSE(run.there.wants.empty());
  run.tell(credit_there(run.there.pieces));
  EXPECT_EQ(pieces_of(run.there, tensor_kind::block_sums).size(), 1u);
}

// Version 1 replaces it: whoever still misses version 0 by then is not waited for by anybody.
TEST(node_credit, what_is_kept_no_longer_is_not_sent) {
  played_node run{0, two_pieces};
  run.begin();
  for (const uint64_t version : {0u, 1u, 2u})
    run.tell(played_node::span_here(version));
  EXPECT_EQ(run.there.pieces.size(), 2u);
  run.tell(credit_there(run.there.pieces));
  ASSERT_EQ(run.there.pieces.size(), 4u);
  EXPECT_EQ(run.there.pieces[2].what.of.key, 1u) << "the rest of version 0 is gone";
}

TEST(node_credit, a_new_term_and_a_new_link_forget_what_waits) {
  played_node run{0, two_pieces};
  run.begin();
  run.tell(played_node::span_here(0));
  run.begin(2);
  run.tell(credit_there(run.there.pieces));
  EXPECT_EQ(run.there.pieces.size(), 2u);
  run.tell(played_node::span_here(0, 2));
  EXPECT_EQ(run.there.pieces.size(), 4u) << "of the new term, though the same was under way";
  run.link_there(13);
  run.tell(asking_there(2));
  ASSERT_EQ(run.there.pieces.size(), 6u);
  EXPECT_EQ(run.there.pieces[4].what.stamp, (link_position{13, piece_bytes})) << "from 0";
}

TEST(node_credit, who_leaves_the_view_is_sent_nothing_more) {
  played_node run{0, two_pieces};
  run.begin();
  run.tell(played_node::span_here(0));
  auto alone = played_node::both(1, 2);
  alone.members.pop_back();
  alone.replicas = {{0, 0, {0, 4}}};
  alone.shards.pop_back();
  run.tell(alone);
  run.tell(credit_there(run.there.pieces));
  EXPECT_EQ(run.there.pieces.size(), 2u);
}

TEST(node_credit, credit_goes_back_after_a_part_with_each_want_and_when_asked) {
  played_node run{0, 16 * piece_bytes};
  run.begin();
  auto news = played_node::piece_there(0, here, 1000);
  news.what.stamp = {5, piece_bytes - 4};
  run.tell(news);
  EXPECT_TRUE(run.there.credits.empty());
  news.what.stamp.bytes = piece_bytes;
  news.what.of.term = 9; // what is not looked at was seen all the same
  run.tell(news);
  ASSERT_EQ(run.there.credits.size(), 1u);
  EXPECT_EQ(run.there.credits[0], (sent_credit{{{"here", false}, {5, piece_bytes}}}));
  auto gradient = played_node::gradient_there(0, 0, 2);
  gradient.what.stamp = {5, piece_bytes + 8};
  run.tell(gradient);
  EXPECT_EQ(run.there.credits.size(), 1u);
  run.wait(300ms);
  ASSERT_FALSE(run.there.wants.empty());
  EXPECT_EQ(run.there.wants.front().what.seen, (link_position{5, piece_bytes + 8}));
  EXPECT_EQ(run.there.credits.size(), 1u) << "it is in the want";
  run.tell(sent_stamp{{played_node::from_there(), {5, 2 * piece_bytes}}});
  ASSERT_EQ(run.there.credits.size(), 2u);
  EXPECT_EQ(run.there.credits.back().what.bytes, 2 * piece_bytes) << "what has not come is lost";
}

TEST(node_credit, training_goes_before_checkpoints_to_the_director) {
  played_node run{1, two_pieces};
  run.begin();
  run.tell(played_node::span_here(4));
  const auto values = test::counting_from(0, here);
  run.tell(shard_copy{4, 0, values, {values}, {4, 0, {}, true, {}}});
  EXPECT_EQ(run.director.numbers.size(), 1u);
  ASSERT_EQ(run.director.pieces.size(), 1u) << "a quarter, or one piece";
  run.tell(played_node::span_here(5));
  auto fetch = asking(speaking_director(), tensor_kind::parameters, 5);
  fetch.what.elements = {{0, 1500}};
  run.tell(fetch);
  ASSERT_EQ(run.director.pieces.size(), 2u);
  EXPECT_EQ(run.director.pieces[1].what.of, (tensor_name{tensor_kind::parameters, 1, 5}));
  for (int i = 0; i < 20; ++i)
    run.tell(credit_of(speaking_director(), run.director.pieces));
  EXPECT_EQ(run.director.pieces.size(), 7u) << "three pieces of each tensor, and the one";
}

} // namespace troupe::node_credit_test
