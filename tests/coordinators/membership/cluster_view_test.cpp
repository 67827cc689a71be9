#include "coordinators/membership/cluster_view.hpp"

#include "coordinators/membership/view_placement.hpp"
#include "coordinators/step/placement.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::cluster_view_test {
namespace {

using test::text_of;

cluster_view numbered(cluster_view view) {
  view.id = {1, 1};
  return view;
}

/// a: two replicas and a shard, b: one of each. 4 slices, 2 blocks.
cluster_view sound() {
  auto view = place_anew({{"a", 1, 2, 1}, {"b", 2, 1, 1}}, 4, 5000);
  view.id = {1, 1};
  return view;
}

view_limits as(const std::string& name, size_t replicas, size_t shards) {
  return {name, replicas, shards, 4, 5000, 20};
}

/// Two segments of four parts: a has a group, b's replica is a spare.
cluster_view split_view() {
  auto view = sound();
  view.replicas[0].take({{0, 4}, {0, 2}, {0, 2}});
  view.replicas[1].take({{0, 4}, {0, 2}, {2, 4}});
  view.replicas[2].take({});
  return view;
}

view_limits splitting() {
  auto result = as("a", 2, 1);
  result.segment_count = 2;
  result.part_count = 4;
  return result;
}

TEST(cluster_view, knows_its_members_by_name_and_deed) {
  const cluster_view view{.id = {1, 1},
                          .start_version = 0,
                          .members = {{"a", 1, 2, 0}, {"b", 1, 1, 1}, {"c", 1, 0, 1}},
                          .replicas = {{0, 0, {}}, {0, 1, {0, 2}}, {1, 0, {}}},
                          .shards = {{1, 0, {}}, {2, 0, {0, 1}}}};
  EXPECT_EQ(view.find("b"), 1u);
  EXPECT_FALSE(view.find("d"));
  EXPECT_TRUE(view.computes(0));
  EXPECT_FALSE(view.computes(1)) << "a spare";
  EXPECT_FALSE(view.computes(2));
  EXPECT_FALSE(view.holds_spans(0));
  EXPECT_FALSE(view.holds_spans(1)) << "no blocks";
  EXPECT_TRUE(view.holds_spans(2));
  EXPECT_EQ(view.work_text(0), "computes slices 0 to 1; from step 0 on");
  EXPECT_EQ(view.work_text(1), "computes nothing for now; from step 0 on");
  auto later = view;
  later.id.number = 2;
  later.replicas[2].slices = {3, 4};
  later.shards[0].blocks = {1, 2};
  EXPECT_EQ(later.work_text(1), "computes slice 3, and keeps parameters");
}

TEST(cluster_view, a_higher_term_wins_whatever_the_number) {
  EXPECT_LT((view_number{1, 9}), (view_number{2, 1}));
  EXPECT_LT((view_number{2, 1}), (view_number{2, 2}));
}

TEST(view_placement, a_small_model_makes_few_members_precious) {
  const auto view = place_anew({{"a", 1, 0, 1}, {"b", 1, 1, 2}, {"c", 1, 2, 1}}, 2, block_size + 1);
  EXPECT_EQ(text_of(view), "0.0 from 0: a s0..1, b r0..1 s1..2, c r1..2 r-");
}

TEST(view_placement, a_spare_takes_over_and_nobody_else_moves) {
  const auto before = numbered(place_anew({{"a", 1, 2, 0}, {"b", 1, 2, 0}, {"c", 1, 1, 1}}, 4, 1));
  EXPECT_EQ(text_of(before), "1.1 from 0: a r0..1 r1..2, b r2..3 r3..4, c r- s0..1");
  auto grown = before;
  grown = place_again(grown, {{"a", 1, 2, 0}, {"c", 1, 1, 1}, {"d", 1, 1, 0}}, 4);
  EXPECT_EQ(text_of(grown), "1.2 from 0: a r0..1 r1..2, c r2..3 s0..1, d r3..4");
  EXPECT_EQ(grown.shards[0].member, 1u) << "the same process, in its new place";
}

TEST(view_placement, without_a_spare_all_share_anew) {
  const auto before = numbered(place_anew({{"a", 1, 1, 1}, {"b", 1, 1, 0}, {"c", 1, 1, 0}}, 6, 1));
  EXPECT_EQ(text_of(place_again(before, {{"a", 1, 1, 1}, {"c", 1, 1, 0}}, 6)),
            "1.2 from 0: a r0..3 s0..1, c r3..6");
  EXPECT_EQ(text_of(place_again(before, {{"a", 1, 0, 1}}, 6)), "1.2 from 0: a s0..1");
}

TEST(view_placement, a_joiner_gets_slices_when_another_has_two) {
  const auto of_five = numbered(place_anew({{"a", 1, 3, 1}}, 5, 1));
  EXPECT_EQ(text_of(place_again(of_five, {{"a", 1, 3, 1}, {"b", 1, 1, 0}}, 5)),
            "1.2 from 0: a r0..1 r1..2 r2..3 s0..1, b r3..5");
  const auto of_three = numbered(place_anew({{"a", 1, 3, 1}}, 3, 1));
  EXPECT_EQ(text_of(place_again(of_three, {{"a", 1, 3, 1}, {"b", 1, 1, 0}}, 3)),
            "1.2 from 0: a r0..1 r1..2 r2..3 s0..1, b r-");
  const auto of_eight = numbered(place_anew({{"a", 1, 3, 1}}, 8, 1));
  EXPECT_EQ(text_of(place_again(of_eight, {{"a", 1, 3, 1}, {"b", 1, 1, 0}}, 8)),
            "1.2 from 0: a r0..2 r2..4 r4..6 s0..1, b r6..8");
}

/// North has slices 0 to 3, and so has its copy; south the others; "none" has no rows.
row_holders north_and_south() {
  return {{{0, 4}, {4, 6}}, {{"north", 0}, {"copy", 0}, {"south", 1}}};
}

TEST(view_placement, slices_go_to_who_has_their_rows_and_to_nobody_else) {
  const auto holders = north_and_south();
  const auto before = numbered(
    place_anew({{"none", 1, 2, 1}, {"south", 1, 3, 0}, {"copy", 1, 1, 0}, {"north", 1, 2, 0}}, 6, 1,
               {}, holders));
  EXPECT_EQ(text_of(before),
            "1.1 from 0: none r- r- s0..1, south r4..5 r5..6 r-, copy r0..1, north r1..2 r2..4");
  const auto lost =
    place_again(before, {{"none", 1, 2, 1}, {"south", 1, 3, 0}, {"copy", 1, 1, 0}}, 6, {}, holders);
  EXPECT_EQ(text_of(lost), "1.2 from 0: none r- r- s0..1, south r4..5 r5..6 r-, copy r0..4")
    << "spares of others take nothing";
  const auto back = place_again(lost, before.members, 6, {}, holders);
  EXPECT_EQ(text_of(back),
            "1.3 from 0: none r- r- s0..1, south r4..5 r5..6 r-, copy r0..1, north r1..2 r2..4");
}

TEST(view_placement, needs_a_replica_for_the_rows_of_each_holding) {
  const auto holders = north_and_south();
  EXPECT_TRUE(can_place({}, holders, {{"copy", 1, 1, 0}, {"south", 1, 1, 0}}));
  EXPECT_FALSE(can_place({}, holders, {{"copy", 1, 1, 0}, {"none", 1, 4, 1}}));
  EXPECT_FALSE(can_place({}, holders, {{"copy", 1, 1, 0}, {"south", 1, 0, 1}}));
  EXPECT_EQ(rows_need(holders, {{"none", 1, 1, 1}, {"south", 1, 1, 0}}), "the rows of copy, north");
  EXPECT_EQ(rows_need(holders, {}), "the rows of copy, north, and of south");
  EXPECT_TRUE(can_place({}, {}, {}));
}

TEST(view_check, refuses_slices_of_rows_that_a_process_does_not_have) {
  const auto holders = north_and_south();
  auto view = numbered(place_anew({{"north", 1, 1, 1}, {"south", 1, 1, 0}}, 6, 1, {}, holders));
  view_limits here{"south", 1, 0, 6, 1, 10};
  here.holders = holders;
  EXPECT_EQ(misfit_of(view, here), "");
  std::swap(view.replicas[0].slices, view.replicas[1].slices);
  EXPECT_EQ(misfit_of(view, here), "it gives north slices of rows that it does not have");
}

TEST(view_placement, another_life_of_a_name_inherits_nothing) {
  const auto before = numbered(place_anew({{"a", 1, 1, 1}, {"b", 1, 1, 0}, {"c", 1, 1, 0}}, 2, 1));
  EXPECT_EQ(text_of(place_again(before, {{"a", 1, 1, 1}, {"b", 2, 1, 0}, {"c", 1, 1, 0}}, 2)),
            "1.2 from 0: a r0..1 s0..1, b r1..2, c r-")
    << "b came back as a spare, and took over as the first of them";
}

TEST(view_check, a_view_of_the_same_cluster_file_fits) {
  EXPECT_EQ(misfit_of(sound(), as("a", 2, 1)), "");
  EXPECT_EQ(misfit_of(sound(), as("b", 1, 1)), "");
  EXPECT_EQ(misfit_of(sound(), as("c", 0, 0)), "") << "who is not named";
}

TEST(view_check, a_view_that_counts_on_more_than_there_is_does_not_fit) {
  EXPECT_EQ(misfit_of(sound(), as("a", 1, 1)),
            "the director counts on replica 1 of this process, which has 1");
  EXPECT_EQ(misfit_of(sound(), as("b", 1, 0)),
            "the director counts on shard 0 of this process, which has 0");
}

TEST(view_check, a_model_is_split_where_replicas_can_carry_parts_of_it_only) {
  const auto view = split_view();
  EXPECT_EQ(misfit_of(view, splitting()), "");
  const auto refusal = "it splits the model over replicas as this process cannot";
  EXPECT_EQ(misfit_of(view, as("a", 2, 1)), refusal);
  for (const auto& odd : {index_range{0, 5}, index_range{3, 2}}) {
    auto other = view;
    other.replicas[1].segments = odd;
    EXPECT_EQ(misfit_of(other, splitting()), refusal);
    other = view;
    other.replicas[1].parts = odd;
    EXPECT_EQ(misfit_of(other, splitting()), refusal);
  }
}

TEST(view_check, each_group_carries_every_part_of_every_segment_once) {
  const auto refused = [](auto spoil) {
    auto view = split_view();
    spoil(view.replicas);
    return misfit_of(view, splitting());
  };
  EXPECT_EQ(refused([](auto& x) { x[1].take({}); }),
            "no replica carries part 2 of segment 0 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) { x[1].parts = index_range(1, 4); }),
            "several replicas carry part 1 of segment 0 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) { x[1].segments = index_range(0, 1); }),
            "no replica carries part 2 of segment 1 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) { x[2].take(x[0].work()); }),
            "several replicas carry part 0 of segment 0 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) { x[0].slices = index_range(0, 2); }),
            "no replica carries part 2 of segment 0 of slices 0-1")
    << "and the other slices lie across its";
  EXPECT_EQ(refused([](auto& x) {
              x[0].take({{0, 4}, {}, {}}), x[1].take({});
            }),
            "")
    << "a replica with the whole model";
}

TEST(view_check, no_slice_is_of_two_groups) {
  auto view = sound();
  view.replicas[1].slices = {0, 2};
  EXPECT_EQ(misfit_of(view, as("a", 2, 1)), "slice 0 is of two groups");
  view.replicas[1].slices = view.replicas[0].slices;
  EXPECT_EQ(misfit_of(view, as("a", 2, 1)),
            "several replicas carry part 0 of segment 0 of slices 0");
}

TEST(view_check, every_index_and_range_is_looked_at) {
  const auto spoiled = [](auto spoil) {
    auto view = sound();
    spoil(view);
    return misfit_of(view, as("a", 2, 1));
  };
  EXPECT_NE(spoiled([](auto& x) { x.replicas[0].member = 2; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.replicas[2].slices.end = 5; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.replicas[2].slices = {3, 2}; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.shards[1].member = 7; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.shards[1].blocks.end = 3; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.shards[1].blocks.begin = 0; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.members[1].name = "a"; }), "");
  EXPECT_NE(spoiled([](auto& x) { x.start_version = 21; }), "");
}

TEST(view_check, a_servers_view_gives_each_replica_a_part) {
  auto view = place_anew({{"a", 1, 2, 1}, {"b", 2, 6, 0}}, 8, 5000);
  EXPECT_EQ(misfit_of(view, {"b", 6, 0, 0, 5000, 20}), "");
}

} // namespace
} // namespace troupe::cluster_view_test
