#include "coordinators/parallel/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace troupe::grid_test {
namespace {

using ranges = std::vector<index_range>;
using costs = std::vector<uint64_t>;

uint64_t largest_cost(const costs& all, const ranges& stages) {
  uint64_t result = 0;
  for (const auto& x : stages)
    result = std::max(result, std::accumulate(all.begin() + static_cast<std::ptrdiff_t>(x.begin),
                                              all.begin() + static_cast<std::ptrdiff_t>(x.end),
                                              uint64_t{0}));
  return result;
}

/// All ways to cut segments `begin` .. in stages, those with short first stages first.
std::vector<ranges> all_cuts(size_t begin, size_t end, size_t stage_count) {
  if (stage_count == 1)
    return {{{begin, end}}};
  std::vector<ranges> result;
  for (size_t at = begin + 1; at + stage_count - 1 <= end; ++at)
    for (auto& rest : all_cuts(at, end, stage_count - 1)) {
      rest.insert(rest.begin(), {begin, at});
      result.push_back(std::move(rest));
    }
  return result;
}

TEST(grid, places_are_groups_of_parts_and_stages_while_there_are_slices) {
  const struct {
    const char* name;
    grid_shape shape;
    grid_work work;
    std::vector<partition> places;
  } rows[] = {
    {"one replica has everything", {}, {4, 1, {5, 7}, {}}, {{{0, 4}, {0, 2}, {0, 1}}}},
    {"groups share slices as replicas always did",
     {2, 1, 1},
     {5, 1, {1}, {}},
     {{{0, 2}, {0, 1}, {0, 1}}, {{2, 5}, {0, 1}, {0, 1}}}},
    {"there are no more groups than slices",
     {3, 1, 1},
     {2, 1, {1}, {}},
     {{{0, 1}, {0, 1}, {0, 1}}, {{1, 2}, {0, 1}, {0, 1}}, {}}},
    {"without a whole group nobody has work", {1, 2, 2}, {4, 2, {1, 1}, {}}, {{}, {}, {}}},
    {"stages are as the job says",
     {1, 1, 2},
     {4, 1, {1, 1, 1, 100, 100}, {3, 2}},
     {{{0, 4}, {0, 3}, {0, 1}}, {{0, 4}, {3, 5}, {0, 1}}}},
  };
  for (const auto& [name, shape, work, places] : rows)
    EXPECT_EQ(place_partitions(shape, work, places.size()), places) << name;
}

TEST(grid, ranks_count_parts_then_stages_then_groups) {
  const auto partitions = place_partitions({2, 2, 2}, {4, 4, {3, 1, 1, 1}, {}}, 8);
  const ranges slices{{0, 2}, {2, 4}};
  const ranges segments{{0, 1}, {1, 4}};
  const ranges parts{{0, 2}, {2, 4}};
  ASSERT_EQ(partitions.size(), 8u);
  for (size_t d = 0; d < 2; ++d)
    for (size_t s = 0; s < 2; ++s)
      for (size_t a = 0; a < 2; ++a)
        EXPECT_EQ(partitions[(d * 2 + s) * 2 + a], (partition{slices[d], segments[s], parts[a]}));
}

TEST(grid, every_slice_segment_and_part_belongs_to_one_replica) {
  for (size_t data = 1; data < 4; ++data)
    for (size_t tensor = 1; tensor < 4; ++tensor)
      for (size_t pipeline = 1; pipeline < 4; ++pipeline) {
        const grid_shape shape{data, tensor, pipeline};
        const grid_work work{5, 4, {2, 3, 5, 7, 11}, {}};
        std::vector<int> owners(5 * 5 * 4, 0);
        for (const auto& x : place_partitions(shape, work, data * tensor * pipeline)) {
          EXPECT_FALSE(x.empty());
          for (auto i = x.slices.begin; i < x.slices.end; ++i)
            for (auto k = x.segments.begin; k < x.segments.end; ++k)
              for (auto t = x.parts.begin; t < x.parts.end; ++t)
                ++owners[(i * 5 + k) * 4 + t];
        }
        EXPECT_EQ(std::ranges::count(owners, 1), 100);
      }
}

TEST(grid, replicas_beyond_whole_groups_are_spares) {
  const grid_work work{4, 2, {1, 1}, {}};
  const auto partitions = place_partitions({3, 2, 2}, work, 10);
  ASSERT_EQ(partitions.size(), 10u);
  EXPECT_EQ(partitions[7], (partition{{2, 4}, {1, 2}, {1, 2}})) << "two groups are whole";
  EXPECT_TRUE(partitions[8].empty());
  EXPECT_EQ(partitions[9], partition{});
}

TEST(grid, what_does_not_fit_is_refused) {
  const grid_work work{4, 2, {1, 1, 1}, {}};
  EXPECT_THROW(place_partitions({0, 1, 1}, work, 4), std::invalid_argument);
  EXPECT_THROW(place_partitions({1, 0, 1}, work, 4), std::invalid_argument);
  EXPECT_THROW(place_partitions({1, 1, 0}, work, 4), std::invalid_argument);
  EXPECT_THROW(place_partitions({1, 3, 1}, work, 4), std::invalid_argument) << "parts";
  EXPECT_THROW(place_partitions({1, 1, 4}, work, 4), std::invalid_argument) << "segments";
  EXPECT_THROW(place_partitions({1, 1, 2}, {4, 2, {1, 1, 1}, {3}}, 4), std::invalid_argument);
  EXPECT_THROW(place_partitions({1, 1, 2}, {4, 2, {1, 1, 1}, {1, 1}}, 4), std::invalid_argument);
  EXPECT_THROW(place_partitions({1, 1, 2}, {4, 2, {1, 1, 1}, {3, 0}}, 4), std::invalid_argument);
}

TEST(grid, the_slowest_stage_is_as_fast_as_it_can_be_and_the_others_are_balanced_behind_it) {
  EXPECT_EQ(balance_stages({28, 72}, 2), (ranges{{0, 1}, {1, 2}}));
  EXPECT_EQ(balance_stages({1, 2, 3, 4, 5, 6}, 3), (ranges{{0, 3}, {3, 5}, {5, 6}}));
  EXPECT_EQ(balance_stages({9, 1, 1, 1}, 2), (ranges{{0, 1}, {1, 4}}));
  EXPECT_EQ(balance_stages({1, 1, 1}, 2), (ranges{{0, 1}, {1, 3}})) << "earlier ones are short";
  EXPECT_EQ(balance_stages({0, 0, 0}, 2), (ranges{{0, 1}, {1, 3}}));
  EXPECT_EQ(balance_stages({1, 1, 1, 10}, 3), (ranges{{0, 1}, {1, 3}, {3, 4}}));
  EXPECT_EQ(balance_stages({10, 1, 1, 1, 1}, 3), (ranges{{0, 1}, {1, 3}, {3, 5}}));
}

TEST(grid, stages_are_balanced_as_by_trying_all) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 3000; ++round) {
    costs all(1 + random() % 9);
    for (auto& x : all)
      x = random() % (round % 2 == 0 ? 4 : 1000);
    const auto stage_count = 1 + random() % all.size();
    const auto stages = balance_stages(all, stage_count);
    auto least = ~uint64_t{0};
    for (const auto& x : all_cuts(0, all.size(), stage_count))
      least = std::min(least, largest_cost(all, x));
    ASSERT_EQ(stages.size(), stage_count);
    ASSERT_EQ(largest_cost(all, stages), least) << "round " << round;
    for (size_t i = 0; i < stage_count; ++i) {
      ASSERT_FALSE(stages[i].empty());
      ASSERT_EQ(stages[i].begin, i == 0 ? 0 : stages[i - 1].end);
    }
    ASSERT_EQ(stages.back().end, all.size());
  }
}

TEST(partition_text, names_slices_layers_and_parts) {
  model_split split;
  split.part_count = 4;
  split.layers = {{0, 2}, {2, 3}};
  EXPECT_EQ(partition_text({{0, 4}, {0, 1}, {0, 1}}, split), "slices 0-3, layers 0-1, part 0 of 4");
  EXPECT_EQ(partition_text({{4, 5}, {1, 2}, {2, 4}}, split), "slice 4, layer 2, parts 2-3 of 4");
  EXPECT_EQ(partition_text({}, split), "spare");
  split.part_count = 1;
  EXPECT_EQ(partition_text({{0, 2}, {0, 2}, {0, 1}}, split), "slices 0-1, layers 0-2");
}

} // namespace
} // namespace troupe::grid_test
