// What a node makes of views, holds and checkpoints, between neighbours that we play.

#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe::node_views_test {

namespace {

using test::asking;
using test::counted;
using test::pieces_of;
using test::played_node;
using test::values_of;
using test::wants_of;
using ranges = std::vector<index_range>;
using namespace std::chrono_literals;

constexpr size_t all = played_node::parameter_count;
constexpr size_t here = played_node::here_count;

} // namespace

TEST(node, a_hold_is_answered_when_all_replicas_did_and_again_when_asked_again) {
  played_node run;
  run.begin();
  run.give_version(0);
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
  played_node run;
  run.begin();
  run.give_version(0);
  const auto told = run.replica.horizons.size();
  run.tell(directive{1, 1, {8, true, {3, 3}}, 0, 0});
  run.tell(directive{1, 2, {8, true, {3, 9}}, 0, 0});
  EXPECT_EQ(run.replica.horizons.size(), told);
  run.tell(directive{1, 3, {8, true, {3, 8}}, 0, 0});
  EXPECT_EQ(run.replica.horizons.back().rule, (horizon_rule{8, true, {3, 8}}));
}

TEST(node, who_is_no_member_any_more_rests) {
  played_node run;
  run.begin();
  run.give_version(0);
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
  played_node run{1};
  run.begin();
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

} // namespace troupe::node_views_test
