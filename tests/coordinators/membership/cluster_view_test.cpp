#include "troupe/coordinators/membership/cluster_view.hpp"

#include "troupe/coordinators/membership/view_placement.hpp"
#include "troupe/coordinators/step/placement.hpp"
#include "troupe/tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::cluster_view_test {

namespace {

using test::text_of;

cluster_view numbered(cluster_view view) {
  view.id = {1, 1};
  return view;
}

} // namespace

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

TEST(view_placement, another_life_of_a_name_inherits_nothing) {
  const auto before = numbered(place_anew({{"a", 1, 1, 1}, {"b", 1, 1, 0}, {"c", 1, 1, 0}}, 2, 1));
  EXPECT_EQ(text_of(place_again(before, {{"a", 1, 1, 1}, {"b", 2, 1, 0}, {"c", 1, 1, 0}}, 2)),
            "1.2 from 0: a r0..1 s0..1, b r1..2, c r-")
    << "b came back as a spare, and took over as the first of them";
}

} // namespace troupe::cluster_view_test
