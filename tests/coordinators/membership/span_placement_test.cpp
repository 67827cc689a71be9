// Where blocks are owned when a model is split: with those that contribute them.

#include "coordinators/membership/view_placement.hpp"
#include "coordinators/step/placement.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::span_placement_test {

namespace {

using sizes = std::vector<size_t>;

/// Tiles of so many blocks: by part, then by segment; behind them what segment 0 has in common.
model_split split_by(const grid_shape& shape, size_t segments, size_t parts, const sizes& tiles) {
  model_split result;
  result.shape = shape;
  result.part_count = parts;
  result.segment_costs.assign(segments, 1);
  size_t begin = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const bool is_common = i == segments * parts;
    const auto end = begin + tiles[i] * block_size;
    result.tiles.push_back(
      {is_common ? 0 : i % segments, is_common ? 0 : i / segments, {begin, end}});
    begin = end;
  }
  return result;
}

struct cluster_of {
  size_t count = 0;
  size_t replicas = 1;
  size_t shards = 1;
};

std::vector<member> members_of(const cluster_of& x) {
  std::vector<member> result;
  for (size_t i = 0; i < x.count; ++i)
    result.push_back({std::string(1, static_cast<char>('a' + i)), 1, x.replicas, x.shards});
  return result;
}

/// "a0..4 b4..8": in order of blocks.
std::string spans_of(const std::vector<member>& members, const model_split& split) {
  const auto view = place_anew(members, 8, split.tiles.back().elements.end, split);
  std::string result;
  std::vector<size_t> next(members.size(), 0);
  for (const auto& place : view.shards) {
    EXPECT_EQ(place.index, next[place.member]++) << "shards of a member in their order";
    EXPECT_LT(place.index, members[place.member].shard_count);
    result +=
      (result.empty() ? "" : " ") + members[place.member].name + test::text_of(place.blocks);
  }
  return result;
}

} // namespace

TEST(span_placement, a_stage_owns_its_layers_however_large) {
  EXPECT_EQ(spans_of(members_of({2}), split_by({1, 1, 2}, 2, 1, {9, 3})), "a0..9 b9..12");
  EXPECT_EQ(spans_of(members_of({2}), split_by({1, 1, 2}, 2, 1, {99, 1})), "a0..99 b99..100");
}

TEST(span_placement, a_part_owns_its_tiles_and_what_all_have_in_common_goes_to_a_neighbour) {
  EXPECT_EQ(spans_of(members_of({2}), split_by({1, 2, 1}, 1, 2, {8, 8, 1})), "a0..8 b8..17");
  EXPECT_EQ(spans_of(members_of({2}), split_by({1, 2, 1}, 1, 4, {4, 4, 4, 4, 1})), "a0..8 b8..17");
  EXPECT_EQ(spans_of(members_of({2, 1, 2}), split_by({1, 2, 1}, 1, 2, {8, 8, 1})),
            "a0..4 a4..8 b8..12 b12..17")
    << "a shard saves more in a part's tiles";
}

TEST(span_placement, groups_with_the_same_tiles_share_them_evenly) {
  EXPECT_EQ(spans_of(members_of({4}), split_by({2, 2, 1}, 1, 2, {8, 8, 1})),
            "a0..4 c4..8 b8..12 d12..17");
  EXPECT_EQ(spans_of(members_of({2, 2}), split_by({2, 2, 1}, 1, 2, {8, 8, 1})), "a0..8 b8..17")
    << "each has a whole group";
}

TEST(span_placement, stages_of_several_groups_own_a_part_each) {
  // a, b: the stages of group 0; c, d: of group 1. Each has both parts.
  EXPECT_EQ(spans_of(members_of({4, 2}), split_by({2, 2, 2}, 2, 2, {4, 4, 4, 4})),
            "a0..4 b4..8 c8..12 d12..16");
  EXPECT_EQ(spans_of(members_of({4, 2}), split_by({2, 2, 2}, 2, 2, {9, 1, 9, 1})),
            "a0..9 b9..10 c10..19 d19..20");
}

TEST(span_placement, where_stages_and_parts_alternate_shards_decide) {
  const auto split = split_by({1, 1, 2}, 2, 4, {2, 2, 2, 2, 2, 2, 2, 2});
  EXPECT_EQ(spans_of(members_of({2, 1, 4}), split),
            "a0..2 b2..4 a4..6 b6..8 a8..10 b10..12 a12..14 b14..16");
  EXPECT_EQ(spans_of(members_of({2}), split), "a0..8 b8..16") << "even: half of each is its own";
  EXPECT_EQ(spans_of(members_of({2}), split_by({1, 1, 2}, 2, 2, {1, 3, 3, 1})), "b0..4 a4..8")
    << "even, and where most comes from";
}

TEST(span_placement, a_server_has_all_split_evenly) {
  auto members = members_of({3});
  members[2].replica_count = 0;
  EXPECT_EQ(spans_of(members, split_by({1, 1, 2}, 2, 1, {9, 3})), "a0..4 b4..8 c8..12");
}

TEST(span_placement, who_has_replicas_to_spare_only_owns_nothing) {
  EXPECT_EQ(spans_of(members_of({3}), split_by({1, 1, 2}, 2, 1, {9, 3})), "a0..9 b9..12");
}

TEST(span_placement, tiles_of_those_without_shards_go_to_a_neighbour_or_are_shared) {
  auto members = members_of({2});
  members[1].shard_count = 0;
  EXPECT_EQ(spans_of(members, split_by({1, 1, 2}, 2, 1, {9, 3})), "a0..12");
  members[0].shard_count = 0;
  EXPECT_EQ(spans_of(members, split_by({1, 1, 2}, 2, 1, {9, 3})), "");
}

TEST(span_placement, small_tiles_are_of_the_block_that_has_most_of_them) {
  auto split = split_by({1, 1, 2}, 2, 1, {1, 1});
  split.tiles[0].elements = {0, 3 * block_size + 1000};
  split.tiles[1].elements = {3 * block_size + 1000, 4 * block_size + 10};
  EXPECT_EQ(spans_of(members_of({2}), split), "a0..3 b3..5");
  split.tiles[0].elements = {0, 100};
  split.tiles[1].elements = {100, 200};
  EXPECT_EQ(spans_of(members_of({2}), split), "b0..1") << "a model of less than a block";
}

TEST(span_placement, one_process_splits_evenly_over_its_shards) {
  EXPECT_EQ(spans_of(members_of({1, 4, 3}), split_by({1, 2, 2}, 2, 2, {9, 1, 9, 1})),
            "a0..6 a6..13 a13..20");
}

namespace {

/// Blocks that lie with one who contributes the most of them.
size_t blocks_at_home(const cluster_view& view, const model_split& split) {
  size_t result = 0;
  for (const auto& shard : view.shards)
    for (auto block = shard.blocks.begin; block < shard.blocks.end; ++block) {
      const auto middle = block * block_size + block_size / 2;
      result += std::ranges::any_of(split.tiles, [&](const split_tile& tile) {
        return tile.elements.contains(middle) &&
               std::ranges::any_of(view.replicas, [&](const replica_place& place) {
                 return place.member == shard.member && tile.is_of(place.work());
               });
      });
    }
  return result;
}

void expect_sound(const std::vector<member>& members, const model_split& split) {
  const auto total = split.tiles.back().elements.end;
  auto view = place_anew(members, 8, total, split);
  size_t next = 0;
  for (const auto& place : view.shards) {
    EXPECT_EQ(place.blocks.begin, next);
    EXPECT_FALSE(place.blocks.empty());
    next = place.blocks.end;
  }
  EXPECT_EQ(next, block_count(total));
  const auto at_home = blocks_at_home(view, split) + 1; // who has most of a span takes it first
  view.shards = place_spans_evenly(members, total);
  EXPECT_GE(at_home, blocks_at_home(view, split)) << spans_of(members, split);
}

} // namespace

TEST(span_placement, every_block_has_one_owner_and_hardly_more_are_away_than_with_even_spans) {
  for (size_t parts = 1; parts <= 5; ++parts)
    for (size_t segments = 1; segments <= 4; ++segments) {
      sizes tiles;
      for (size_t i = 0; i <= segments * parts; ++i)
        tiles.push_back((i * 7 + parts) % 5);
      for (size_t tensor = 1; tensor <= parts; ++tensor)
        for (size_t pipeline = 1; pipeline <= segments; ++pipeline)
          for (size_t nodes = 1; nodes <= 6; ++nodes)
            for (size_t shards = 1; shards <= 3; ++shards)
              if (nodes * 4 >= tensor * pipeline)
                expect_sound(members_of({nodes, 4, shards}),
                             split_by({3, tensor, pipeline}, segments, parts, tiles));
    }
}

} // namespace troupe::span_placement_test
