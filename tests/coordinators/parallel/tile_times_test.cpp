// The tile rule in virtual time: stages of equal speed are idle for as long as theory says, and keep
// as many slices as each schedule promises. Times are in whole units, so that figures are exact.

#include "tests/support/walk/tile_walk.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <optional>
#include <unordered_set>

namespace troupe::tile_times_test {
namespace {

using namespace test;

constexpr auto one_f_one_b = pipeline_schedule::one_forward_one_backward;

/// What a tile of each way takes, and a boundary from stage to stage.
struct durations {
  uint64_t forward = 1;
  uint64_t backward = 2;
  uint64_t gradient = 0; ///< 0: it is part of backward
  uint64_t latency = 0;
};

class timed_pipeline {
public:
  timed_pipeline(const company_shape& shape, const durations& times)
    : company_(shape), times_(times), item_count_(shape.item_count), is_busy_(company_.size()) {
    std::vector<size_t> items(item_count_);
    std::iota(items.begin(), items.end(), size_t{0});
    company_.begin(items);
    for (go_on(); !events_.empty(); go_on()) {
      now_ = events_.begin()->first;
      // All that happens at this moment, before anybody decides.
      while (!events_.empty() && events_.begin()->first == now_)
        on_event(events_.extract(events_.begin()).mapped());
    }
    EXPECT_EQ(company_.problem(), "");
    EXPECT_TRUE(company_.done());
  }

  uint64_t end() const { return now_; }
  /// The idle share of all stages.
  double bubble() const {
    const auto work = item_count_ * (times_.forward + times_.backward + times_.gradient);
    return 1 - static_cast<double>(work) / static_cast<double>(now_);
  }
  std::vector<size_t> peaks() const {
    std::vector<size_t> result;
    for (size_t i = 0; i < company_.size(); ++i)
      result.push_back(company_.rule(i).in_flight_peak());
    return result;
  }

private:
  /// A replica has done a tile, and this comes of it; or, without one, it arrives.
  struct event {
    std::optional<size_t> done;
    std::vector<boundary_share> sent;
  };

  uint64_t duration_of(tile_way way) const {
    return way == tile_way::forward    ? times_.forward
           : way == tile_way::backward ? times_.backward
                                       : times_.gradient;
  }

  void go_on() {
    for (size_t i = 0; i < company_.size(); ++i) {
      event done{i, {}};
      if (is_busy_[i])
        continue;
      if (const auto next = company_.work(i, done.sent)) {
        is_busy_[i] = true;
        events_.emplace(now_ + duration_of(next->way), std::move(done));
      }
    }
  }

  void on_event(const event& what) {
    if (what.done) {
      is_busy_[*what.done] = false;
      events_.emplace(now_ + times_.latency, event{{}, what.sent});
    } else {
      for (const auto& share : what.sent)
        company_.deliver(share);
    }
  }

  tile_company company_;
  durations times_;
  size_t item_count_;
  std::vector<bool> is_busy_;
  uint64_t now_ = 0;
  std::multimap<uint64_t, event> events_; ///< by time
};

company_shape pipeline(size_t stage_count, size_t slice_count, pipeline_schedule schedule) {
  return {
    .stages = std::vector<size_t>(stage_count, 1), .schedule = schedule, .item_count = slice_count};
}

TEST(tile_times, both_schedules_are_idle_for_as_long_as_theory_says) {
  for (const size_t stages : {2, 3, 4, 8})
    for (const size_t slices : {1, 2, 4, 8, 16, 32})
      for (const auto schedule : {one_f_one_b, pipeline_schedule::gpipe}) {
        const timed_pipeline run{pipeline(stages, slices, schedule), {}};
        EXPECT_EQ(run.end(), 3 * (slices + stages - 1)) << stages << " stages, " << slices;
      }
}

TEST(tile_times, stages_keep_as_many_slices_as_their_schedule_promises) {
  for (const size_t stages : {2, 4, 8})
    for (const size_t slices : {8, 16, 32}) {
      const timed_pipeline run{pipeline(stages, slices, one_f_one_b), {}};
      for (size_t k = 0; k < stages; ++k)
        EXPECT_EQ(run.peaks()[k], stages - k) << stages << " stages, " << slices << " slices";
      const timed_pipeline gpipe{pipeline(stages, slices, pipeline_schedule::gpipe), {}};
      EXPECT_EQ(gpipe.peaks(), std::vector<size_t>(stages, slices));
    }
}

TEST(tile_times, without_a_bound_the_first_stage_keeps_more) {
  auto shape = pipeline(4, 16, one_f_one_b);
  shape.in_flight_max = any_number_in_flight;
  EXPECT_GT(timed_pipeline(shape, {}).peaks().front(), 4u);
}

// Half of what lies behind a slice's forward can wait: the gaps are filled with it.
TEST(tile_times, gradients_apart_fill_a_third_of_the_gaps) {
  const durations apart{.backward = 1, .gradient = 1};
  const auto bubble = [&](size_t stages, size_t slices) {
    const timed_pipeline run{pipeline(stages, slices, one_f_one_b), apart};
    EXPECT_EQ(run.peaks().front(), stages);
    return run.bubble();
  };
  EXPECT_NEAR(bubble(2, 8), 0.077, 0.0005);
  EXPECT_NEAR(bubble(4, 8), 0.200, 0.0005);
  EXPECT_NEAR(bubble(4, 16), 0.111, 0.0005);
  EXPECT_NEAR(bubble(8, 32), 0.127, 0.0005);
}

TEST(tile_times, slices_more_in_flight_hide_latency) {
  const durations slow{.forward = 4, .backward = 8, .latency = 1};
  const auto bubble = [&](size_t more) {
    auto shape = pipeline(4, 16, one_f_one_b);
    shape.in_flight_more = more;
    return timed_pipeline{shape, slow}.bubble();
  };
  EXPECT_NEAR(bubble(0), 0.253, 0.0005);
  EXPECT_NEAR(bubble(1), 0.216, 0.0005);
  EXPECT_NEAR(bubble(2), 0.190, 0.0005);
}

TEST(tile_times, who_shares_a_stage_computes_a_second_slice_while_sums_are_under_way) {
  company_shape shape{.stages = {4}, .tensor = 2, .item_count = 8};
  const durations slow{.forward = 2, .backward = 4, .latency = 1};
  const timed_pipeline two{shape, slow};
  shape.in_flight_max = 1;
  const timed_pipeline one{shape, slow};
  EXPECT_LT(two.end(), one.end());
  EXPECT_EQ(two.peaks(), (std::vector<size_t>{2, 2}));
}

// The tile rule against any order of what comes: drawn ones of any shape, and all of small groups.

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

} // namespace
} // namespace troupe::tile_times_test
