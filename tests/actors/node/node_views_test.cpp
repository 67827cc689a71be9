// What a node makes of views, holds and checkpoints, between neighbours that we play.

#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe::node_views_test {
namespace {

using namespace test;
using ranges = std::vector<index_range>;
using namespace std::chrono_literals;

constexpr size_t all = played_node::parameter_count;
constexpr size_t here = played_node::here_count;

TEST(node, a_hold_is_answered_when_all_replicas_did_and_again_when_asked_again) {
  node_at_start run;
  run.tell(hold_request{1, 2});
  EXPECT_EQ(run.replica.rounds, std::vector<uint64_t>{2});
  EXPECT_TRUE(run.director.holds.empty());
  run.tell(atom::held_v, uint64_t{0}, uint64_t{1}, uint64_t{4});
  EXPECT_TRUE(run.director.holds.empty()) << "of another round";
  run.tell(atom::held_v, uint64_t{0}, uint64_t{2}, uint64_t{5});
  const hold_answer expected{"here", {1, 1}, 5, {0}};
  EXPECT_EQ(run.director.holds, std::vector{expected});
  run.tell(hold_request{1, 2});
  EXPECT_EQ(run.director.holds, (std::vector{expected, expected})) << "the answer was lost";
  run.tell(played_node::both(1, 2)); // it was lost, and the hold of that view came
  run.tell(hold_request{1, 2});
  run.tell(atom::held_v, uint64_t{0}, uint64_t{2}, uint64_t{5});
  EXPECT_EQ(run.director.holds.back().view, (view_number{1, 2}));
  const auto told = run.replica.horizons.size();
  run.tell(directive{1, 1, {9, true}, 0, 0});
  EXPECT_EQ(run.replica.horizons.size(), told) << "older than the hold";
  run.tell(directive{1, 3, {5, true}, 0, 0});
  EXPECT_EQ(run.replica.horizons.back().rule, (horizon_rule{5, true}));
}

TEST(node, a_directive_with_reductions_that_cannot_be_is_not_followed) {
  node_at_start run;
  const auto told = run.replica.horizons.size();
  run.tell(directive{1, 1, {8, true, {3, 3}}, 0, 0});
  run.tell(directive{1, 2, {8, true, {3, 9}}, 0, 0});
  EXPECT_EQ(run.replica.horizons.size(), told);
  run.tell(directive{1, 3, {8, true, {3, 8}}, 0, 0});
  EXPECT_EQ(run.replica.horizons.back().rule, (horizon_rule{8, true, {3, 8}}));
}

TEST(node, who_is_no_member_any_more_rests) {
  node_at_start run;
  auto without = played_node::both(1, 2);
  without.members[0].incarnation = 8; // somebody else of this name
  run.tell(without);
  EXPECT_TRUE(run.replica.views.back().replicas.at(0).slices.empty());
  run.there = {};
  run.tell(played_node::span_here(1));
  run.tell(asking(played_node::from_there(), tensor_kind::parameters, 0));
  EXPECT_TRUE(run.there.pieces.empty());
}

// The others may have gone on since the version of which it has a part.
TEST(node, who_comes_in_the_middle_of_a_term_wants_all_of_what_there_is) {
  played_node run;
  auto later = played_node::both(1, 2, 4);
  later.shards = {{1, 0, {0, 1}}, {1, 1, {1, 2}}};
  run.tell(later);
  run.tell(played_node::piece_there(4, 0, here));
  run.wait(250ms);
  const tensor_name any{tensor_kind::parameters, 1, 0};
  const tensor_name begun{tensor_kind::parameters, 1, 4};
  EXPECT_EQ(wants_of(run.there, tensor_kind::parameters),
            (std::vector<tensor_want>{{any, {{0, here}}, true},
                                      {any, {{here, all}}, true},
                                      {begun, {{here, all}}, false}}));
  run.tell(played_node::piece_there(7, 0, all));
  ASSERT_EQ(run.replica.views.size(), 1u);
  EXPECT_EQ(run.replica.views[0].start_version, 7u);
}

TEST(node, who_has_no_version_yet_answers_a_hold_without_its_replicas) {
  played_node run;
  auto later = played_node::both(1, 2, 4);
  later.shards = {{1, 0, {0, 1}}, {1, 1, {1, 2}}};
  run.tell(later);
  run.tell(hold_request{1, 5});
  EXPECT_TRUE(run.replica.rounds.empty());
  EXPECT_EQ(run.director.holds, (std::vector{hold_answer{"here", {1, 2}, 0, {}}}));
}

TEST(node, an_older_view_changes_nothing) {
  played_node run;
  run.begin(2);
  run.tell(played_node::span_here(0, 2));
  const auto told = run.shard.views.size();
  run.tell(played_node::both(1, 9));
  EXPECT_EQ(run.shard.views.size(), told);
}

TEST(node, shards_begin_a_term_with_the_state_of_the_checkpoint) {
  const tensor_name parameters{tensor_kind::state, 2, 4, only_leaf, 0};
  const tensor_name slot{tensor_kind::state, 2, 4, only_leaf, 1};
  played_node run{1};
  run.begin(2, 4);
  EXPECT_EQ(wants_of(run.director, tensor_kind::state),
            (std::vector<tensor_want>{{parameters, {{0, here}}}, {slot, {{0, here}}}}))
    << "at once: it does not come by itself";
  run.wait(250ms);
  EXPECT_EQ(run.director.wants.size(), 4u);
  EXPECT_TRUE(run.shard.starts.empty());
  run.tell(shard_numbers{4, 0, {0.5}, false, {3, 4, 0, 0}});
  run.tell(played_node::state_piece(parameters, 0, here));
  run.tell(played_node::state_piece(slot, 0, 3000));
  EXPECT_TRUE(run.shard.starts.empty());
  run.tell(played_node::state_piece(slot, 3000, here - 3000));
  ASSERT_EQ(run.shard.starts.size(), 1u);
  const auto& start = run.shard.starts[0];
  EXPECT_EQ(start.term, 2u);
  EXPECT_EQ(start.versions->of(4).values()[here - 1], here - 1);
  ASSERT_EQ(start.slots.size(), 1u);
  EXPECT_EQ(values_of(start.slots[0]), counted(0, here));
  EXPECT_EQ(start.numbers.metrics, (batch_sums{3, 4, 0, 0}));
  EXPECT_EQ(run.shard.views.back().start_version, 4u);
}

TEST(node, numbers_that_did_not_come_with_the_state_are_asked_for_alone) {
  const tensor_name parameters{tensor_kind::state, 2, 4};
  played_node run;
  run.begin(2, 4);
  run.tell(played_node::state_piece(parameters, 0, here));
  run.tell(shard_numbers{3, 0, {}, false, {}});
  EXPECT_TRUE(run.shard.starts.empty()) << "of another version";
  run.director.wants.clear();
  run.wait(250ms);
  EXPECT_EQ(wants_of(run.director, tensor_kind::state),
            (std::vector<tensor_want>{{parameters, {}}}));
  run.tell(shard_numbers{4, 0, {}, false, {}});
  EXPECT_EQ(run.shard.starts.size(), 1u);
}

TEST(node, copies_for_the_last_two_checkpoints_are_kept_for_the_director) {
  begun_node run{1};
  const auto values = test::counting_from(0, here);
  for (const uint64_t version : {4u, 5u, 6u})
    run.tell(shard_copy{version, 0, values, {values}, {version, 0, {}, true, {}}});
  EXPECT_EQ(run.director.numbers.size(), 3u);
  EXPECT_EQ(run.director.pieces.size(), 18u) << "three of each tensor, without being asked";
  run.tell(sent_credit{{speaking_director(), run.director.pieces.back().what.stamp}});
  run.director = {};
  for (const uint64_t version : {4u, 5u})
    run.tell(asking(speaking_director(), tensor_kind::state, version));
  EXPECT_EQ(test::joined(pieces_of(run.director, tensor_kind::state)), counted(0, here));
  ASSERT_EQ(run.director.numbers.size(), 1u);
  EXPECT_EQ(run.director.numbers[0].version, 5u);
}

// A node and its credit: what goes to a neighbour that does not read, and what waits.

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

TEST(node_credit, pieces_wait_until_the_neighbour_has_seen_those_before) {
  begun_node run{0, two_pieces};
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
  begun_node run{0, two_pieces};
  run.tell(played_node::span_here(0));
  run.wait(150ms);
  EXPECT_TRUE(run.there.stamps.empty());
  run.wait(100ms);
  ASSERT_EQ(run.there.stamps.size(), 1u);
  EXPECT_EQ(run.there.stamps[0], (sent_stamp{{{"here", false}, {9, two_pieces}}}));
}

TEST(node_credit, wants_do_not_wait_and_norms_do_as_all_that_holds_values) {
  begun_node run{0, two_pieces};
  run.tell(played_node::span_here(0));
  run.tell(block_sums{0, 0, {4}, 1});
  EXPECT_TRUE(pieces_of(run.there, tensor_kind::block_sums).empty());
  run.wait(250ms);
  EXPECT_FALSE(run.there.wants.empty());
  run.tell(credit_there(run.there.pieces));
  EXPECT_EQ(pieces_of(run.there, tensor_kind::block_sums).size(), 1u);
}

// Version 1 replaces it: whoever still misses version 0 by then is not waited for by anybody.
TEST(node_credit, what_is_kept_no_longer_is_not_sent) {
  begun_node run{0, two_pieces};
  for (const uint64_t version : {0u, 1u, 2u})
    run.tell(played_node::span_here(version));
  EXPECT_EQ(run.there.pieces.size(), 2u);
  run.tell(credit_there(run.there.pieces));
  ASSERT_EQ(run.there.pieces.size(), 4u);
  EXPECT_EQ(run.there.pieces[2].what.of.key, 1u) << "the rest of version 0 is gone";
}

TEST(node_credit, a_new_term_and_a_new_link_forget_what_waits) {
  begun_node run{0, two_pieces};
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
  begun_node run{0, two_pieces};
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
  begun_node run{0, 16 * piece_bytes};
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
  begun_node run{1, two_pieces};
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

// ---- Leaving ----

TEST(node_leave, each_report_says_it_until_a_view_lets_it_go_and_it_does_not_join_anew) {
  begun_node run;
  run.tell(atom::leave_v);
  EXPECT_TRUE(run.director.nodes.back().leaves) << "at once";
  run.wait(1000ms);
  EXPECT_TRUE(run.director.nodes.back().leaves);
  EXPECT_TRUE(run.left.empty()) << "others may need it";
  auto without = played_node::both(1, 2);
  without.members.erase(without.members.begin());
  without.replicas.clear();
  without.shards = {{0, 0, {0, 2}}};
  const auto standings = run.standings.size();
  run.tell(without);
  EXPECT_EQ(run.left, std::vector<bool>{true});
  EXPECT_EQ(run.standings.size(), standings);
}

TEST(node_leave, one_that_no_view_names_may_go_at_once) {
  played_node run;
  run.tell(atom::leave_v);
  EXPECT_EQ(run.left, std::vector<bool>{false}) << "nobody let it go";
}

TEST(node_leave, without_a_director_it_waits_for_a_link_and_goes) {
  begun_node run;
  run.tell(atom::leave_v);
  run.wait(3000ms);
  EXPECT_TRUE(run.left.empty());
  run.lose_director();
  run.wait(1950ms);
  EXPECT_TRUE(run.left.empty()) << "it may be back";
  run.wait(100ms);
  ASSERT_FALSE(run.left.empty());
  EXPECT_FALSE(run.left.front());
}

} // namespace
} // namespace troupe::node_views_test
