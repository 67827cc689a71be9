#include "troupe/coordinators/membership/view_check.hpp"

#include "troupe/coordinators/membership/view_placement.hpp"

#include <gtest/gtest.h>

namespace troupe::view_check_test {

namespace {

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

} // namespace

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
  EXPECT_EQ(refused([](auto& x) {
              x[1].parts = {1, 4};
            }),
            "several replicas carry part 1 of segment 0 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) {
              x[1].segments = {0, 1};
            }),
            "no replica carries part 2 of segment 1 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) { x[2].take(x[0].work()); }),
            "several replicas carry part 0 of segment 0 of slices 0-3");
  EXPECT_EQ(refused([](auto& x) {
              x[0].slices = {0, 2};
            }),
            "no replica carries part 2 of segment 0 of slices 0-1")
    << "and the other slices lie across its";
  EXPECT_EQ(refused([](auto& x) {
              x[0].take({{0, 4}, {}, {}});
              x[1].take({});
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

TEST(view_check, a_keepers_view_gives_each_replica_a_part) {
  auto view = place_anew({{"a", 1, 2, 1}, {"b", 2, 6, 0}}, 8, 5000);
  EXPECT_EQ(misfit_of(view, {"b", 6, 0, 0, 5000, 20}), "");
}

} // namespace troupe::view_check_test
