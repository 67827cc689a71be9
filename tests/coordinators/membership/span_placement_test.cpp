// Where blocks are owned when a model is split: with those that contribute them.

#include "coordinators/membership/membership_rule.hpp"
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

// Views that split a model over groups of replicas: who carries what when a term begins, and after
// others have come or gone.

using namespace test;

constexpr size_t blocks = block_size;

/// Two segments of two parts each, so many blocks a tile.
model_split split_by(size_t tensor, size_t pipeline, size_t data = 8) {
  model_split result;
  result.shape = {data, tensor, pipeline};
  result.part_count = 2;
  result.segment_costs = {1, 1};
  result.tiles = {{0, 0, {0, 4 * blocks}},
                  {1, 0, {4 * blocks, 8 * blocks}},
                  {0, 1, {8 * blocks, 12 * blocks}},
                  {1, 1, {12 * blocks, 16 * blocks}}};
  return result;
}

constexpr size_t parameter_count = 16 * blocks;

std::vector<member> named(const std::string& names, size_t replicas = 1, size_t shards = 0) {
  std::vector<member> result;
  for (const auto name : names)
    result.push_back({std::string(1, name), 1, replicas, shards});
  return result;
}

cluster_view anew(const std::string& names, const model_split& split, size_t slices = 4) {
  auto result = place_anew(named(names), slices, parameter_count, split);
  result.id = {1, 1};
  return result;
}

std::string again(const cluster_view& before, const std::string& names, const model_split& split,
                  size_t slices = 4) {
  return text_of(place_again(before, named(names), slices, split));
}

TEST(group_placement, replicas_are_ranks_in_order_of_members) {
  EXPECT_EQ(text_of(anew("abcd", split_by(2, 2))),
            "1.1 from 0: a r0..4:0..1/0..1, b r0..4:0..1/1..2, c r0..4:1..2/0..1, d "
            "r0..4:1..2/1..2");
  EXPECT_EQ(text_of(place_anew(named("ab", 2), 4, parameter_count, split_by(2, 1))),
            "0.0 from 0: a r0..2:0..2/0..1 r0..2:0..2/1..2, b r2..4:0..2/0..1 r2..4:0..2/1..2");
}

TEST(group_placement, there_are_as_many_groups_as_are_whole_and_wanted) {
  EXPECT_EQ(text_of(anew("abcde", split_by(2, 1))),
            "1.1 from 0: a r0..2:0..2/0..1, b r0..2:0..2/1..2, c r2..4:0..2/0..1, d "
            "r2..4:0..2/1..2, e r-");
  EXPECT_EQ(text_of(anew("abcd", split_by(2, 1, 1))),
            "1.1 from 0: a r0..4:0..2/0..1, b r0..4:0..2/1..2, c r-, d r-");
}

TEST(group_placement, a_spare_takes_the_partition_of_one_that_is_lost) {
  const auto split = split_by(2, 1);
  const auto before = anew("abcde", split);
  EXPECT_EQ(again(before, "acde", split),
            "1.2 from 0: a r0..2:0..2/0..1, c r2..4:0..2/0..1, d r2..4:0..2/1..2, e "
            "r0..2:0..2/1..2");
}

TEST(group_placement, spares_take_a_whole_group_and_nobody_else_moves) {
  const auto split = split_by(2, 1, 2);
  EXPECT_EQ(again(anew("abcdef", split), "cdef", split),
            "1.2 from 0: c r2..4:0..2/0..1, d r2..4:0..2/1..2, e r0..2:0..2/0..1, f "
            "r0..2:0..2/1..2");
}

TEST(group_placement, spares_go_where_least_is_missing) {
  const auto split = split_by(2, 2, 2);
  EXPECT_EQ(again(anew("abcdefghi", split), "abefghi", split),
            "1.2 from 0: a r-, b r-, e r0..4:0..1/0..1, f r0..4:0..1/1..2, g r0..4:1..2/0..1, h "
            "r0..4:1..2/1..2, i r-")
    << "a and b lack two, there is one";
  EXPECT_EQ(again(anew("abcdefghi", split), "abefgi", split),
            "1.2 from 0: a r-, b r-, e r0..4:0..1/0..1, f r0..4:0..1/1..2, g r0..4:1..2/0..1, i "
            "r0..4:1..2/1..2");
}

TEST(group_placement, a_group_without_a_part_is_dissolved_and_its_slices_are_shared) {
  const auto split = split_by(2, 1);
  const auto before = anew("abcd", split);
  EXPECT_EQ(again(before, "acd", split), "1.2 from 0: a r-, c r0..4:0..2/0..1, d r0..4:0..2/1..2");
  EXPECT_EQ(again(anew("abcdef", split, 8), "abdef", split, 8),
            "1.2 from 0: a r0..4:0..2/0..1, b r0..4:0..2/1..2, d r-, e r4..8:0..2/0..1, f "
            "r4..8:0..2/1..2");
}

TEST(group_placement, the_living_of_a_dissolved_group_fill_gaps_with_what_they_carry) {
  const auto split = split_by(2, 1);
  EXPECT_EQ(again(anew("abcd", split), "bc", split), "1.2 from 0: b r0..4:0..2/1..2, c "
                                                     "r0..4:0..2/0..1");
  const auto wide = split_by(2, 2);
  const auto before = anew("abcdefgh", wide);
  EXPECT_EQ(again(before, "abcfgh", wide),
            "1.2 from 0: a r0..4:0..1/0..1, b r0..4:0..1/1..2, c r0..4:1..2/0..1, f r-, g r-, h "
            "r0..4:1..2/1..2");
}

TEST(group_placement, spares_that_make_up_a_group_get_slices_when_another_has_two_more) {
  const auto split = split_by(2, 1);
  const auto before = anew("ab", split);
  EXPECT_EQ(again(before, "abc", split), "1.2 from 0: a r0..4:0..2/0..1, b r0..4:0..2/1..2, c r-");
  EXPECT_EQ(again(before, "abcd", split),
            "1.2 from 0: a r0..2:0..2/0..1, b r0..2:0..2/1..2, c r2..4:0..2/0..1, d "
            "r2..4:0..2/1..2");
  EXPECT_EQ(again(anew("ab", split, 1), "abcd", split, 1),
            "1.2 from 0: a r0..1:0..2/0..1, b r0..1:0..2/1..2, c r-, d r-");
  const auto one = split_by(2, 1, 1);
  EXPECT_EQ(again(anew("ab", one), "abcd", one),
            "1.2 from 0: a r0..4:0..2/0..1, b r0..4:0..2/1..2, c r-, d r-");
}

TEST(group_placement, another_life_of_a_name_inherits_nothing) {
  const auto split = split_by(2, 1);
  auto members = named("abc");
  members[0].incarnation = 2;
  EXPECT_EQ(text_of(place_again(anew("abc", split), members, 4, split)),
            "1.2 from 0: a r0..4:0..2/0..1, b r0..4:0..2/1..2, c r-")
    << "a came back as a spare, and took over as the first of them";
}

TEST(group_placement, no_group_is_left_of_too_few) {
  const auto split = split_by(2, 2);
  EXPECT_EQ(text_of(anew("abc", split)), "1.1 from 0: a r-, b r-, c r-");
  EXPECT_EQ(again(anew("abcd", split), "abc", split), "1.2 from 0: a r-, b r-, c r-");
}

// A split model's run with fewer replicas than a group has: it waits by name, and goes on as soon as
// any replica comes.

using phase = membership_rule::phase;

/// a has a replica and the only shard; b and c bring two and one replica; others may join. A model of two
/// segments and two parts, split over all four replicas.
membership_options split_over_four() {
  membership_options result{.expected = {{"a", 1, 1}, {"b", 2, 0}, {"c", 1, 0}},
                            .lets_join = true,
                            .home = "a",
                            .slice_count = 2,
                            .parameter_count = 5000,
                            .join_timeout = milliseconds{1000},
                            .lost_after = milliseconds{100}};
  result.split.shape = {1, 2, 2};
  result.split.part_count = 2;
  result.split.segment_costs = {1, 1};
  return result;
}

member life_of(const std::string& name, uint64_t incarnation = 1) {
  for (const auto& x : split_over_four().expected)
    if (x.name == name)
      return {name, incarnation, x.replica_count, x.shard_count};
  return {name, incarnation, 1, 0};
}

membership_rule running(const std::string& names = "abc") {
  membership_rule rule{split_over_four(), at(0)};
  for (const char name : names)
    rule.on_joined(life_of(std::string(1, name)), at(0));
  rule.on_term_persisted(1);
  return rule;
}

TEST(lacking_group, a_loss_is_waited_for_by_name_and_no_view_is_published) {
  auto rule = running();
  const auto before = rule.view();
  const auto decisions = rule.on_lost("c", 1, at(10));
  ASSERT_EQ(texts_of(decisions), (texts{"wait since 10 c"}));
  EXPECT_EQ(reason_of(decisions[0]),
            "waiting for c: a group needs 4 replicas (tensor 2, pipeline 2), 3 are here");
  EXPECT_EQ(rule.view(), before);
  EXPECT_EQ(rule.state(), phase::running);
  EXPECT_EQ(texts_of(rule.on_tick(at(20))), texts{}) << "told once";
  EXPECT_EQ(reason_of(rule.on_lost("b", 1, at(30)).at(0)),
            "waiting for b, c: a group needs 4 replicas (tensor 2, pipeline 2), 1 are here");
}

TEST(lacking_group, who_comes_back_makes_it_whole_within_the_term) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("c", 2), at(900))),
            (texts{"view 1.2 from 0: a r0..2:0..1/0..1 s0..2, b r0..2:0..1/1..2 r0..2:1..2/0..1, c "
                   "r0..2:1..2/1..2"}));
  EXPECT_EQ(texts_of(rule.on_tick(at(2000))), texts{}) << "the deadline is forgotten";
}

TEST(lacking_group, who_joins_makes_it_whole_too) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_joined(life_of("x"), at(20))),
            (texts{"view 1.2 from 0: a r0..2:0..1/0..1 s0..2, b r0..2:0..1/1..2 r0..2:1..2/0..1, x "
                   "r0..2:1..2/1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("b", 1, at(30))), (texts{"wait since 30 b c"}));
}

TEST(lacking_group, is_given_up_at_the_deadline) {
  auto rule = running();
  rule.on_lost("c", 1, at(10));
  EXPECT_EQ(texts_of(rule.on_tick(at(1009))), texts{});
  const auto decisions = rule.on_tick(at(1010));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(
    reason_of(decisions[0]),
    "a group needs 4 replicas (tensor 2, pipeline 2), 3 were there for 1 s; missing: c. Start "
    "one, or raise timeouts.join");
}

TEST(lacking_group, keeps_a_run_from_beginning_with_too_few_nodes) {
  auto options = split_over_four();
  options.min_nodes = 2;
  membership_rule rule{options, at(0)};
  rule.on_joined(life_of("a"), at(0));
  rule.on_joined(life_of("b"), at(0));
  const auto decisions = rule.on_tick(at(1000));
  ASSERT_EQ(texts_of(decisions), (texts{"give up"}));
  EXPECT_EQ(reason_of(decisions[0]).substr(0, 67),
            "a group needs 4 replicas (tensor 2, pipeline 2), 3 were there for 1");
}

TEST(lacking_group, holds_up_a_new_term_too) {
  auto options = split_over_four();
  options.expected[2].shard_count = 1;
  options.expected.push_back({"d", 1, 0});
  membership_rule rule{options, at(0)};
  for (const auto& x : options.expected)
    rule.on_joined({x.name, 1, x.replica_count, x.shard_count}, at(0));
  rule.on_term_persisted(1);
  EXPECT_EQ(texts_of(rule.on_lost("d", 1, at(5))),
            (texts{"view 1.2 from 0: a r0..2:0..1/0..1 s0..1, "
                   "b r0..2:0..1/1..2 r0..2:1..2/0..1, c "
                   "r0..2:1..2/1..2 s1..2"}));
  EXPECT_EQ(texts_of(rule.on_lost("c", 1, at(10))), (texts{"wait since 10 c d"}));
  EXPECT_EQ(texts_of(rule.on_joined({"d", 2, 1, 0}, at(20))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 0: a r0..2:0..1/0..1 s0..2, b r0..2:0..1/1..2 "
                   "r0..2:1..2/0..1, d r0..2:1..2/1..2"}));
}

} // namespace
} // namespace troupe::span_placement_test
