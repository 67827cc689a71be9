// What a node makes of views, holds and checkpoints, between neighbours that we play.

#include "troupe/tests/support/played_node.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

using test::asking;
using test::counted;
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
  run.tell(course{1, 1, {9, true}, 0, 0});
  EXPECT_EQ(run.replica.horizons.size(), told) << "older than the hold";
  run.tell(course{1, 3, {5, true}, 0, 0});
  EXPECT_EQ(run.replica.horizons.back().rule, (horizon_rule{5, true}));
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
  run.tell(asking("there", want_kind::parameters, 0));
  EXPECT_TRUE(run.there.states.empty());
}

// The others may have gone on since the version of which it has a part.
TEST(node, who_comes_in_the_middle_of_a_term_wants_all_of_what_there_is) {
  played_node run;
  auto later = played_node::both(1, 2, 4);
  later.shards = {{1, 0, {0, 1}}, {1, 1, {1, 2}}};
  run.tell(later);
  run.tell(played_node::piece_there(4, 0, here));
  run.wait(250ms);
  ranges wanted;
  for (const auto& x : wants_of(run.there, want_kind::parameters))
    wanted.insert(wanted.end(), x.elements.begin(), x.elements.end());
  EXPECT_EQ(wanted, (ranges{{0, here}, {here, all}}));
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
  played_node run{1};
  run.begin(2, 4);
  run.wait(250ms);
  ASSERT_FALSE(run.director.wants.empty());
  EXPECT_EQ(run.director.wants[0].kind, want_kind::checkpoint);
  EXPECT_EQ(run.director.wants[0].version, 4u);
  EXPECT_EQ(run.director.wants[0].elements, (ranges{{0, here}}));
  EXPECT_TRUE(run.shard.starts.empty());
  run.tell(shard_numbers{4, 0, {0.5}, false, {3, 4, 0, 0}});
  run.tell(played_node::piece_there(4, 0, here, 0, 2));
  run.tell(played_node::piece_there(4, 0, 3000, 1, 2));
  EXPECT_TRUE(run.shard.starts.empty());
  run.tell(played_node::piece_there(4, 3000, here - 3000, 1, 2));
  ASSERT_EQ(run.shard.starts.size(), 1u);
  const auto& start = run.shard.starts[0];
  EXPECT_EQ(start.term, 2u);
  EXPECT_EQ(start.versions->of(4).values()[here - 1], here - 1);
  ASSERT_EQ(start.slots.size(), 1u);
  EXPECT_EQ(values_of(start.slots[0]), counted(0, here));
  EXPECT_EQ(start.numbers.book, (batch_sums{3, 4, 0, 0}));
  EXPECT_EQ(run.shard.views.back().start_version, 4u);
}

} // namespace troupe
