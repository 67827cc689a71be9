#include "troupe/coordinators/exchange/parcel_gathering.hpp"

#include "troupe/coordinators/membership/cluster_plan.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

using ranges = std::vector<index_range>;

} // namespace

TEST(parcel_gathering, is_whole_when_every_vector_is) {
  parcel_gathering parcel{2, 10};
  EXPECT_FALSE(parcel.is_whole());
  EXPECT_TRUE(parcel.offer(0, {0, 10}));
  EXPECT_TRUE(parcel.offer(1, {4, 10}));
  EXPECT_EQ(parcel.missing(), (ranges{{10, 14}}));
  EXPECT_FALSE(parcel.is_whole());
  EXPECT_TRUE(parcel.offer(1, {0, 5}));
  EXPECT_TRUE(parcel.is_whole());
}

TEST(parcel_gathering, without_vectors_is_whole_at_once) {
  EXPECT_TRUE((parcel_gathering{0, 10}).is_whole());
}

TEST(parcel_gathering, what_is_known_or_fits_nowhere_is_no_news) {
  parcel_gathering parcel{2, 10};
  parcel.offer(0, {2, 6});
  const auto before = parcel;
  EXPECT_FALSE(parcel.offer(0, {2, 6}));
  EXPECT_FALSE(parcel.offer(0, {8, 12})) << "it would reach into the next vector";
  EXPECT_FALSE(parcel.offer(2, {0, 1}));
  EXPECT_FALSE(parcel.offer(1, {3, 3}));
  EXPECT_EQ(parcel, before);
}

TEST(parcel_gathering, a_range_through_all_vectors_has_a_part_in_each) {
  const index_range range{7, 23};
  EXPECT_EQ(parcel_gathering::part_in(range, 0, 10), (index_range{7, 10}));
  EXPECT_EQ(parcel_gathering::part_in(range, 1, 10), (index_range{0, 10}));
  EXPECT_EQ(parcel_gathering::part_in(range, 2, 10), (index_range{0, 3}));
  EXPECT_TRUE(parcel_gathering::part_in(range, 3, 10).empty());
}

TEST(cluster_plan, a_keeper_is_where_the_director_is) {
  cluster_plan plan;
  plan.nodes = {{"a", "", "", false, 2, 3}, {"b", "", "", true, 1, 0}, {"c", "", "", false, 0, 1}};
  const auto kept = plan.with_keeper();
  EXPECT_EQ(kept.nodes[0].shard_count, 0u);
  EXPECT_EQ(kept.nodes[0].replica_count, 2u);
  EXPECT_EQ(kept.nodes[1].shard_count, 1u);
  EXPECT_TRUE(kept.nodes[2].is_spare()) << "there is nothing for a server to do";
}

} // namespace troupe
