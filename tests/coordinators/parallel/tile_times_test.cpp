// The tile rule in virtual time: stages of equal speed are idle for as long as theory says, and keep
// as many slices as each schedule promises. Times are in whole units, so that figures are exact.

#include "tests/support/walk/tile_company.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <optional>

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

} // namespace

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

} // namespace troupe::tile_times_test
