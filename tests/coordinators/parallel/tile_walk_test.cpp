// The tile rule against any order of what comes: drawn ones of any shape, and all of small groups.

#include "tests/support/walk/tile_walk.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <unordered_set>

namespace troupe::tile_walk_test {

namespace {

using namespace test;

/// What a small group can live through: its replicas, and what is under way between them.
struct tile_world {
  tile_company company;
  std::vector<boundary_share> under_way; ///< sorted

  friend bool operator==(const tile_world&, const tile_world&) = default;
};

struct world_hash {
  size_t operator()(const tile_world& x) const { return x.company.key(); }
};

/// What all interleavings come to.
struct interleavings {
  size_t world_count = 0;
  size_t end_count = 0; ///< worlds in which nobody can go on
  std::string problem;  ///< the first
};

/// The world in which replica `index` has done its next tile, if it has one.
std::optional<tile_world> after_work(tile_world from, size_t index) {
  if (!from.company.work(index, from.under_way))
    return std::nullopt;
  std::ranges::sort(from.under_way);
  return from;
}

tile_world after_delivery(tile_world from, size_t index) {
  from.company.deliver(from.under_way[index]);
  from.under_way.erase(from.under_way.begin() + static_cast<std::ptrdiff_t>(index));
  return from;
}

std::vector<tile_world> successors(const tile_world& from) {
  std::vector<tile_world> result;
  for (size_t i = 0; i < from.company.size(); ++i)
    if (auto next = after_work(from, i))
      result.push_back(std::move(*next));
  for (size_t i = 0; i < from.under_way.size(); ++i)
    result.push_back(after_delivery(from, i));
  return result;
}

/// Each event makes the work less, so there are no circles: whoever goes on long enough comes to an
/// end, and all ends are to be good.
interleavings walk_all(const company_shape& shape) {
  tile_world start{tile_company{shape}, {}};
  std::vector<size_t> items(shape.item_count);
  std::iota(items.begin(), items.end(), size_t{0});
  start.company.begin(items);
  interleavings result;
  std::unordered_set<tile_world, world_hash> known{start};
  std::vector<tile_world> open{start};
  while (!open.empty() && result.problem.empty()) {
    const auto world = std::move(open.back());
    open.pop_back();
    auto next = successors(world);
    if (next.empty()) {
      ++result.end_count;
      result.problem = world.company.done() ? "" : "nobody can go on, and not all is done";
    }
    for (auto& x : next) {
      if (!x.company.problem().empty())
        result.problem = x.company.problem();
      if (known.insert(x).second)
        open.push_back(std::move(x));
    }
  }
  result.world_count = known.size();
  return result;
}

void expect_good_ends(const company_shape& shape) {
  const auto all = walk_all(shape);
  EXPECT_EQ(all.problem, "");
  EXPECT_GT(all.end_count, 0u);
  EXPECT_GT(all.world_count, 10u);
}

} // namespace

TEST(tile_walk, every_tile_once_within_the_bound_and_to_the_end) {
  for (uint64_t seed = 0; seed < 100'000; ++seed)
    ASSERT_EQ(tile_walk{seed}.run(), "") << "seed " << seed;
}

TEST(tile_walk, all_interleavings_of_two_stages_and_two_slices) {
  for (const auto schedule :
       {pipeline_schedule::one_forward_one_backward, pipeline_schedule::gpipe})
    for (const auto kind : {tile_rule::work_kind::step, tile_rule::work_kind::evaluation})
      for (const auto& stages : {std::vector<size_t>{1, 1}, {2, 1}, {1, 2}, {2, 2}})
        expect_good_ends({stages, 1, schedule, kind, 2});
}

TEST(tile_walk, all_interleavings_where_replicas_share_a_stage) {
  expect_good_ends({.stages = {1}, .tensor = 2, .item_count = 2});
  expect_good_ends({.stages = {2}, .tensor = 2, .item_count = 2});
  expect_good_ends({.stages = {1, 1}, .tensor = 2, .item_count = 2, .in_flight_max = 1});
}

} // namespace troupe::tile_walk_test
