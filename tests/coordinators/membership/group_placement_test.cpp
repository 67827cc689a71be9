// Views that split a model over groups of replicas: who carries what when a term begins, and after
// others have come or gone.

#include "coordinators/membership/view_placement.hpp"
#include "coordinators/step/placement.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::group_placement_test {

namespace {

using test::text_of;

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

} // namespace

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

} // namespace troupe::group_placement_test
