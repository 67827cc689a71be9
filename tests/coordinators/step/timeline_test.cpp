#include "coordinators/step/timeline.hpp"

#include "coordinators/step/lane_order.hpp"
#include "coordinators/step/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace troupe::timeline_test {
namespace {

// 10 rows in batches of 4: steps of 4, 4 and 2 rows; 2 slices; 3 epochs.
timeline ten_rows() {
  return {.row_count = 10, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
}

std::vector<uint64_t> evaluated_versions(const timeline& plan) {
  std::vector<uint64_t> result;
  for (uint64_t version = 0; version <= plan.last_version(); ++version)
    if (plan.evaluates(version))
      result.push_back(version);
  return result;
}

using versions = std::vector<uint64_t>;
constexpr auto countless = std::numeric_limits<uint64_t>::max();

TEST(timeline, an_epoch_takes_all_rows_and_its_last_step_what_is_left) {
  const auto plan = ten_rows();
  EXPECT_EQ(plan.steps_in_epoch(), 3u);
  EXPECT_EQ(plan.rows_of(0), (index_range{0, 4}));
  EXPECT_EQ(plan.rows_of(1), (index_range{4, 8}));
  EXPECT_EQ(plan.rows_of(2), (index_range{8, 10}));
  EXPECT_EQ(plan.rows_of(3), (index_range{0, 4})) << "the next epoch begins anew";
  EXPECT_EQ(plan.epoch_of(2), 0u);
  EXPECT_EQ(plan.epoch_of(3), 1u);
  EXPECT_EQ(plan.epoch_of(8), 2u);
}

TEST(timeline, a_batch_that_divides_the_rows_leaves_no_short_step) {
  const timeline plan{
    .row_count = 8, .batch_size = 4, .slice_count = 1, .epoch_count = 1, .step_limit = {}};
  EXPECT_EQ(plan.steps_in_epoch(), 2u);
  EXPECT_EQ(plan.rows_of(1), (index_range{4, 8}));
}

TEST(timeline, slices_share_a_step_and_the_rest_goes_to_the_later_ones) {
  timeline plan = ten_rows();
  plan.batch_size = 10;
  plan.slice_count = 4;
  EXPECT_EQ(plan.rows_of_slice(0, 0), (index_range{0, 2}));
  EXPECT_EQ(plan.rows_of_slice(0, 1), (index_range{2, 5}));
  EXPECT_EQ(plan.rows_of_slice(0, 2), (index_range{5, 7}));
  EXPECT_EQ(plan.rows_of_slice(0, 3), (index_range{7, 10}));
  plan.batch_size = 4;
  plan.slice_count = 2;
  EXPECT_EQ(plan.rows_of_slice(1, 1), (index_range{6, 8})) << "positions count from the epoch";
}

TEST(timeline, slices_beyond_the_rows_do_not_exist) {
  timeline plan = ten_rows();
  plan.slice_count = 4;
  // Step 2 has 2 rows: floor(i 2 / 4) for i = 0..4 is 0 0 1 1 2.
  const bool exists[] = {false, true, false, true};
  for (size_t slice = 0; slice < 4; ++slice) {
    EXPECT_TRUE(plan.slice_exists(1, slice)) << slice;
    EXPECT_EQ(plan.slice_exists(2, slice), exists[slice]) << slice;
  }
  EXPECT_EQ(plan.rows_of_slice(2, 3), (index_range{9, 10}));
}

TEST(timeline, a_batch_of_one_row_is_a_step_a_row_in_the_last_slice) {
  const timeline plan{
    .row_count = 3, .batch_size = 1, .slice_count = 3, .epoch_count = 2, .step_limit = {}};
  EXPECT_EQ(plan.steps_in_epoch(), 3u);
  EXPECT_EQ(plan.last_version(), 6u);
  for (uint64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(plan.rows_of(step), (index_range{step % 3, step % 3 + 1}));
    EXPECT_FALSE(plan.slice_exists(step, 0));
    EXPECT_FALSE(plan.slice_exists(step, 1));
    EXPECT_TRUE(plan.slice_exists(step, 2));
  }
}

TEST(timeline, training_ends_with_its_epochs_or_its_steps_whichever_comes_first) {
  auto plan = ten_rows();
  EXPECT_EQ(plan.last_version(), 9u);
  plan.step_limit = 7;
  EXPECT_EQ(plan.last_version(), 7u);
  EXPECT_EQ(plan.version_after_epochs(), 9u) << "whatever the limit";
  plan.step_limit = 10;
  EXPECT_EQ(plan.last_version(), 9u);
}

TEST(timeline, an_epoch_ends_after_its_last_step) {
  const auto plan = ten_rows();
  EXPECT_FALSE(plan.is_epoch_end(0)) << "nothing was trained";
  EXPECT_FALSE(plan.is_epoch_end(2));
  EXPECT_TRUE(plan.is_epoch_end(3));
  EXPECT_FALSE(plan.is_epoch_end(4));
  EXPECT_TRUE(plan.is_epoch_end(9));
}

TEST(timeline, history_has_a_row_every_so_many_epochs_and_of_whatever_is_evaluated) {
  auto plan = ten_rows(); // three epochs of three steps
  const auto rows = [&] {
    versions result;
    for (uint64_t version = 0; version <= 12; ++version)
      if (plan.is_row(version))
        result.push_back(version);
    return result;
  };
  EXPECT_EQ(rows(), (versions{3, 6, 9, 12}));
  plan.history_every = 2;
  plan.evaluate_every = 0;
  EXPECT_EQ(rows(), (versions{6, 9, 12})) << "the end has one";
  EXPECT_EQ(plan.next_row(0), 6u);
  EXPECT_EQ(plan.next_row(6), 9u);
  EXPECT_EQ(plan.last_row(5), 0u);
  EXPECT_EQ(plan.last_row(8), 6u);
  plan.evaluate_every = 1;
  EXPECT_EQ(rows(), (versions{3, 6, 9, 12})) << "what is evaluated has one";
  plan.evaluate_every = 0;
  plan.history_every = std::numeric_limits<size_t>::max();
  EXPECT_EQ(plan.next_row(0), 9u);
}

TEST(timeline, versions_are_evaluated_every_so_many_epochs_and_at_the_end) {
  auto plan = ten_rows();
  EXPECT_EQ(evaluated_versions(plan), (versions{3, 6, 9}));
  plan.evaluate_every = 2;
  EXPECT_EQ(evaluated_versions(plan), (versions{6, 9}));
  plan.evaluate_every = 0;
  EXPECT_EQ(evaluated_versions(plan), (versions{9}));
  plan.evaluate_every = 1;
  plan.step_limit = 7;
  EXPECT_EQ(evaluated_versions(plan), (versions{3, 6, 7}));
}

TEST(timeline, the_next_evaluation_is_the_first_one_above) {
  for (size_t every : {0u, 1u, 2u, 5u})
    for (uint64_t limit : {1u, 3u, 7u, 100u}) {
      auto plan = ten_rows();
      plan.evaluate_every = every;
      plan.step_limit = limit;
      for (uint64_t version = 0; version < plan.last_version(); ++version) {
        auto expected = version + 1;
        while (!plan.evaluates(expected))
          ++expected;
        EXPECT_EQ(plan.next_evaluation(version), expected) << every << ' ' << limit;
      }
      EXPECT_EQ(plan.next_evaluation(plan.last_version()), plan.last_version());
    }
}

TEST(timeline, more_epochs_than_can_be_counted_do_not_wrap_around) {
  auto plan = ten_rows();
  plan.batch_size = 3; // 4 steps an epoch: 2^62 epochs would be 2^64 steps
  plan.epoch_count = size_t{1} << 62;
  EXPECT_EQ(plan.last_version(), countless);
  plan.step_limit = 100;
  EXPECT_EQ(plan.last_version(), 100u);
  plan.evaluate_every = size_t{1} << 62;
  EXPECT_FALSE(plan.evaluates(4));
  EXPECT_EQ(plan.next_evaluation(4), 100u);
}

TEST(timeline, slices_partition_a_step_and_steps_an_epoch) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random{seed};
    timeline plan;
    plan.row_count = 1 + random() % 200;
    plan.batch_size = 1 + random() % plan.row_count;
    plan.slice_count = 1 + random() % 20;
    const auto first_step = (random() % 3) * plan.steps_in_epoch();
    size_t next = 0;
    for (uint64_t k = 0; k < plan.steps_in_epoch(); ++k) {
      const auto rows = plan.rows_of(first_step + k);
      ASSERT_EQ(rows.begin, next) << "seed " << seed;
      ASSERT_FALSE(rows.empty());
      ASSERT_LE(rows.size(), plan.batch_size);
      for (size_t slice = 0; slice < plan.slice_count; ++slice) {
        const auto part = plan.rows_of_slice(first_step + k, slice);
        ASSERT_EQ(part.begin, next) << "seed " << seed;
        ASSERT_GE(part.end, part.begin);
        ASSERT_LE(part.size(), rows.size() / plan.slice_count + 1) << "equal up to one row";
        ASSERT_GE(part.size(), rows.size() / plan.slice_count);
        next = part.end;
      }
      ASSERT_EQ(rows.end, next) << "seed " << seed;
    }
    ASSERT_EQ(next, plan.row_count) << "seed " << seed;
  }
}

TEST(timeline, evaluation_chunks_have_256_rows_and_the_last_one_what_is_left) {
  EXPECT_EQ(evaluation_chunk_count(0), 0u);
  EXPECT_EQ(evaluation_chunk_count(1), 1u);
  EXPECT_EQ(evaluation_chunk_count(256), 1u);
  EXPECT_EQ(evaluation_chunk_count(257), 2u);
  EXPECT_EQ(evaluation_chunk(600, 0), (index_range{0, 256}));
  EXPECT_EQ(evaluation_chunk(600, 1), (index_range{256, 512}));
  EXPECT_EQ(evaluation_chunk(600, 2), (index_range{512, 600}));
}

TEST(timeline, validation_rows_have_chunks_of_their_own_after_those_of_the_test_rows) {
  EXPECT_EQ((evaluation_rows{257, 1}.test.chunk_count()), 2u);
  EXPECT_EQ((evaluation_rows{257, 1}.chunk_count()), 3u);
  EXPECT_EQ((evaluation_rows{0, 256}.chunk_count()), 1u);
  EXPECT_FALSE((evaluation_rows{0, 1}.empty()));
  EXPECT_FALSE((evaluation_rows{1, 0}.empty()));
  EXPECT_TRUE(evaluation_rows{}.empty());
}

TEST(timeline, rows_before_a_version_are_those_of_its_steps) {
  timeline plan{
    .row_count = 11, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
  uint64_t rows = 0;
  for (uint64_t version = 0; version < 10; ++version) {
    EXPECT_EQ(plan.rows_before(version), rows) << version;
    rows += plan.rows_of(version).size();
  }
  EXPECT_EQ(plan.rows_before(std::numeric_limits<uint64_t>::max()),
            std::numeric_limits<uint64_t>::max());
}

using ranges = std::vector<index_range>;

TEST(placement, parts_are_contiguous_and_differ_by_at_most_one) {
  EXPECT_EQ(split_evenly(7, 3), (ranges{{0, 2}, {2, 4}, {4, 7}}));
  EXPECT_EQ(split_evenly(2, 4), (ranges{{0, 0}, {0, 1}, {1, 1}, {1, 2}}));
  EXPECT_EQ(split_evenly(5, 1), (ranges{{0, 5}}));
  EXPECT_EQ(split_evenly(5, 0), ranges{});
  for (size_t count = 0; count < 40; ++count)
    for (size_t parts = 1; parts < 12; ++parts) {
      size_t next = 0;
      for (const auto& part : split_evenly(count, parts)) {
        ASSERT_EQ(part.begin, next);
        ASSERT_GE(part.size(), count / parts);
        ASSERT_LE(part.size(), (count + parts - 1) / parts);
        next = part.end;
      }
      ASSERT_EQ(next, count);
    }
}

TEST(placement, replicas_share_the_slices) {
  EXPECT_EQ(assign_slices(8, 2), (ranges{{0, 4}, {4, 8}}));
  EXPECT_EQ(assign_slices(5, 2), (ranges{{0, 2}, {2, 5}}));
  EXPECT_EQ(assign_slices(3, 3), (ranges{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(placement, replicas_beyond_the_slices_are_spares_at_the_end) {
  EXPECT_EQ(assign_slices(2, 4), (ranges{{0, 1}, {1, 2}, {0, 0}, {0, 0}}));
}

TEST(placement, parameters_are_cut_into_blocks_of_4096) {
  EXPECT_EQ(block_count(0), 0u);
  EXPECT_EQ(block_count(1), 1u);
  EXPECT_EQ(block_count(4096), 1u);
  EXPECT_EQ(block_count(4097), 2u);
}

TEST(placement, shards_own_whole_blocks_and_some_none) {
  EXPECT_EQ(assign_blocks(3 * 4096 + 1, 2), (ranges{{0, 2}, {2, 4}}));
  EXPECT_EQ(assign_blocks(100, 3), (ranges{{0, 0}, {0, 0}, {0, 1}}));
}

TEST(placement, the_last_block_ends_with_the_parameters) {
  const size_t count = 3 * 4096 + 1;
  EXPECT_EQ(elements_of_blocks({0, 2}, count), (index_range{0, 8192}));
  EXPECT_EQ(elements_of_blocks({2, 4}, count), (index_range{8192, count}));
  EXPECT_TRUE(elements_of_blocks({4, 4}, count).empty()) << "also beyond the end";
}

TEST(placement, shards_partition_the_parameters) {
  for (size_t count : {1u, 4096u, 50'000u, 123'457u})
    for (size_t shards = 1; shards < 9; ++shards) {
      size_t next = 0;
      for (const auto& blocks : assign_blocks(count, shards)) {
        const auto elements = elements_of_blocks(blocks, count);
        ASSERT_EQ(elements.begin, next);
        next = elements.end;
      }
      ASSERT_EQ(next, count);
    }
}

TEST(placement, short_steps_stay_on_one_thread) {
  EXPECT_EQ(useful_threads({1'000, 11}, 8), 1u);
  EXPECT_EQ(useful_threads({99'999, 10}, 8), 1u);
  EXPECT_EQ(useful_threads({100'000, 10}, 8), 8u);
  EXPECT_EQ(useful_threads({1, 2'000'000}, 8), 8u);
  EXPECT_EQ(useful_threads({size_t{1} << 63, 1000}, 8), 8u) << "no product overflows";
}

TEST(placement, one_replica_has_one_thread_unless_its_update_is_long) {
  EXPECT_EQ(useful_threads({128, 1'000'000, true, 2}, 8), 1u);
  EXPECT_EQ(useful_threads({128, 1'000'000, false, 2}, 8), 8u);
  EXPECT_EQ(useful_threads({128, 2'000'000, true, 2}, 8), 8u);
  EXPECT_EQ(useful_threads({128, 100'000'000, true, 0}, 8), 1u) << "it remembers nothing";
  EXPECT_EQ(useful_threads({128, size_t{1} << 62, true, 2}, 8), 8u);
}

lane_options some_lanes(size_t rows, size_t batch, size_t slices, size_t chunk_rows,
                        size_t window_chunks) {
  lane_options result;
  result.seed = 5;
  result.plan = {rows, batch, slices, 3, std::nullopt, 1};
  for (size_t begin = 0; begin < rows; begin += chunk_rows)
    result.chunk_begins.push_back(begin);
  result.chunk_begins.push_back(rows);
  result.window_chunks = window_chunks;
  return result;
}

/// The rows of a step's slice, window by window.
std::vector<uint32_t> rows_of(const lane_order& lanes, const lane_epoch& order, uint64_t step,
                              size_t slice) {
  std::vector<uint32_t> result;
  const auto wanted = lanes.positions(step, slice);
  for (auto at = wanted.begin; at < wanted.end;) {
    const auto number = lanes.window_at(order, slice, at);
    const auto window = lanes.window(order, slice, number);
    EXPECT_LE(window.positions.begin, at);
    EXPECT_GT(window.positions.end, at);
    EXPECT_LT(number, lanes.window_count(order, slice));
    const auto end = std::min(wanted.end, window.positions.end);
    for (; at < end; ++at)
      result.push_back(window.rows.at(at - window.positions.begin));
  }
  return result;
}

// Any shape: rows, batches, slices, chunks and windows by seed.
TEST(lane_order, each_epoch_visits_each_row_once_and_slices_keep_their_counts) {
  std::mt19937 random{1};
  const auto upto = [&](size_t n) { return 1 + random() % n; };
  for (int trial = 0; trial < 300; ++trial) {
    const auto rows = upto(300);
    auto options = some_lanes(rows, upto(rows), upto(9), upto(40), upto(6));
    if (trial % 3 == 0) // chunks of any size, some of them empty
      for (size_t k = 1; k + 1 < options.chunk_begins.size(); ++k)
        options.chunk_begins[k] =
          std::max(options.chunk_begins[k - 1], options.chunk_begins[k] - random() % 3);
    const lane_order lanes{options};
    const auto& plan = options.plan;
    for (const uint64_t epoch : {0, 2}) {
      const auto order = lanes.epoch(epoch);
      std::set<uint32_t> seen;
      for (uint64_t k = 0; k < plan.steps_in_epoch(); ++k)
        for (size_t slice = 0; slice < plan.slice_count; ++slice) {
          const auto step = epoch * plan.steps_in_epoch() + k;
          const auto found = rows_of(lanes, order, step, slice);
          ASSERT_EQ(found.size(), plan.rows_of_slice(step, slice).size());
          for (const auto row : found)
            ASSERT_TRUE(seen.insert(row).second) << "trial " << trial << ", row " << row;
        }
      ASSERT_EQ(seen.size(), rows);
      ASSERT_EQ(*seen.rbegin(), rows - 1);
    }
  }
}

TEST(lane_order, a_lane_takes_its_share_of_the_chunks_and_two_that_it_shares) {
  const lane_order lanes{some_lanes(10'000, 100, 4, 50, 3)};
  const auto order = lanes.epoch(1);
  std::multiset<uint32_t> read;
  for (size_t slice = 0; slice < 4; ++slice) {
    size_t chunks = 0;
    for (size_t k = 0; k < lanes.window_count(order, slice); ++k) {
      const auto window = lanes.window(order, slice, k);
      EXPECT_LE(window.chunks.size(), 3u);
      chunks += window.chunks.size();
      read.insert(window.chunks.begin(), window.chunks.end());
    }
    EXPECT_LE(chunks, 200u / 4 + 2);
  }
  EXPECT_LE(read.size(), 200u + 3) << "chunks where a lane ends are read twice";
}

TEST(lane_order, follows_from_seed_epoch_and_shape_alone) {
  const auto options = some_lanes(1000, 60, 3, 50, 2);
  const lane_order one{options}, other{options};
  const auto order = one.epoch(4);
  EXPECT_EQ(order.chunks, other.epoch(4).chunks);
  EXPECT_NE(order.chunks, one.epoch(5).chunks);
  // The last window first: nothing is drawn "next".
  const auto last = other.window(order, 2, other.window_count(order, 2) - 1).rows;
  for (size_t k = 0; k < one.window_count(order, 2); ++k)
    one.window(order, 2, k);
  EXPECT_EQ(one.window(order, 2, one.window_count(order, 2) - 1).rows, last);
  auto seeded = options;
  seeded.seed = 6;
  EXPECT_NE(lane_order{seeded}.epoch(4).chunks, order.chunks);
  EXPECT_NE(one.window(order, 0, 0).rows, one.window(order, 1, 0).rows);
}

TEST(lane_order, rows_of_a_window_are_shuffled) {
  const lane_order lanes{some_lanes(1000, 100, 1, 250, 2)};
  const auto window = lanes.window(lanes.epoch(0), 0, 0);
  ASSERT_EQ(window.rows.size(), 500u);
  size_t neighbours = 0;
  for (size_t i = 1; i < window.rows.size(); ++i)
    neighbours += window.rows[i] == window.rows[i - 1] + 1;
  EXPECT_LT(neighbours, 10u);
}

TEST(lane_order, chunks_without_the_timelines_rows_are_refused) {
  auto options = some_lanes(100, 10, 2, 10, 1);
  options.plan.row_count = 101;
  EXPECT_THROW(lane_order{options}, std::invalid_argument);
}

using counts = std::vector<size_t>;

counts slice_counts(const counts& rows, size_t slices) {
  counts result;
  for (const auto& one : share_slices(rows, slices))
    result.push_back(one.slices.size());
  return result;
}

TEST(holding_lanes, slices_go_where_lanes_are_the_longest) {
  EXPECT_EQ(slice_counts({5, 5000}, 2), (counts{1, 1}));
  EXPECT_EQ(slice_counts({5, 5000}, 8), (counts{1, 7}));
  EXPECT_EQ(slice_counts({100, 100, 100}, 4), (counts{2, 1, 1})) << "of equal ones the first";
  EXPECT_EQ(slice_counts({300, 100}, 4), (counts{3, 1}));
  EXPECT_EQ(slice_counts({300, 100}, 1), (counts{0, 0})) << "steps are of one holding each";
  EXPECT_EQ(slice_counts({}, 4), counts{});
}

TEST(holding_lanes, of_equal_lanes_each_step_has_its_rows_exactly) {
  timeline plan{.row_count = 400, .batch_size = 7, .slice_count = 4, .step_limit = {}};
  plan.holdings = share_slices({100, 300}, 4);
  for (uint64_t step = 0; step < plan.steps_in_epoch(); ++step) {
    size_t rows = 0;
    for (size_t slice = 0; slice < 4; ++slice)
      rows += plan.rows_of_slice(step, slice).size();
    EXPECT_EQ(rows, step + 1 < plan.steps_in_epoch() ? 7u : 1u);
  }
}

TEST(holding_lanes, a_step_takes_from_each_lane_in_proportion) {
  // L = 10 and 30 of N = 40, S = 2: T_0(b) = b / 4, T_1(b) = (60 b + 40) / 80 = 3 b / 4 + 1 / 2, rounded down.
  timeline plan{.row_count = 40, .batch_size = 6, .slice_count = 2, .step_limit = {}};
  plan.holdings = share_slices({10, 30}, 2);
  EXPECT_EQ(plan.rows_of_slice(0, 0), (index_range{0, 1}));
  EXPECT_EQ(plan.rows_of_slice(0, 1), (index_range{0, 5}));
  EXPECT_EQ(plan.rows_of_slice(1, 0), (index_range{1, 3}));
  EXPECT_EQ(plan.rows_of_slice(1, 1), (index_range{5, 9}));
  EXPECT_EQ(plan.rows_of_slice(6, 1), (index_range{27, 30})) << "what is left";
  EXPECT_EQ(plan.rows_of_slice(7, 1), (index_range{0, 5})) << "the next epoch begins anew";
  EXPECT_EQ(plan.rows_before(2), 12u);
  EXPECT_TRUE(plan.is_whole(0));
}

TEST(holding_lanes, with_fewer_slices_than_holdings_each_step_is_of_one_in_proportion) {
  timeline plan{.row_count = 5013, .batch_size = 64, .slice_count = 1, .step_limit = {}};
  plan.holdings = share_slices({5, 3000, 2000, 8}, 1);
  std::vector<std::tuple<double, size_t, size_t>> wanted; // place, holding, first row
  for (size_t i = 0; i < plan.holdings.size(); ++i)
    for (uint64_t j = 0; j < plan.steps_of(i); ++j)
      wanted.emplace_back(
        static_cast<double>(2 * j + 1) / static_cast<double>(2 * plan.steps_of(i)), i, 64 * j);
  std::ranges::sort(wanted);
  ASSERT_EQ(plan.steps_in_epoch(), 1u + 47 + 32 + 1);
  uint64_t rows = 0;
  for (uint64_t step = 0; step < 2 * plan.steps_in_epoch(); ++step) {
    const auto& [place, holding, begin] = wanted[step % plan.steps_in_epoch()];
    EXPECT_EQ(plan.holding_of(step, 0), holding) << step;
    EXPECT_EQ(plan.rows_of(step).begin, begin) << step;
    EXPECT_EQ(plan.rows_of_slice(step, 0), plan.rows_of(step));
    EXPECT_EQ(plan.rows_before(step), rows) << step;
    rows += plan.rows_of(step).size();
  }
  EXPECT_EQ(rows, 2 * plan.row_count);
}

/// Steps of one holding each in the order of their places (2 j + 1) / (2 K), the first holding's first: (holding, j).
std::vector<std::pair<size_t, uint64_t>> sorted_steps(const timeline& plan) {
  std::vector<std::pair<size_t, uint64_t>> result;
  for (size_t i = 0; i < plan.holdings.size(); ++i)
    for (uint64_t j = 0; j < plan.steps_of(i); ++j)
      result.emplace_back(i, j);
  std::ranges::stable_sort(result, [&](const auto& a, const auto& b) {
    return (2 * a.second + 1) * plan.steps_of(b.first) <
           (2 * b.second + 1) * plan.steps_of(a.first);
  });
  return result;
}

TEST(holding_lanes, a_step_of_one_holding_is_found_among_any_others) {
  std::mt19937 random{1};
  const auto drawn = [&](size_t from, size_t to) {
    return std::uniform_int_distribution<size_t>{from, to}(random);
  };
  for (size_t round = 0; round < 400; ++round) {
    counts rows(drawn(2, 40));
    const auto most = drawn(1, 60);
    for (auto& count : rows)
      count = drawn(1, drawn(1, 4) == 1 ? most : 3);
    timeline plan{.row_count = std::accumulate(rows.begin(), rows.end(), size_t{0}),
                  .batch_size = drawn(1, 3),
                  .slice_count = 1,
                  .step_limit = {}};
    plan.holdings = share_slices(rows, 1);
    const auto steps = sorted_steps(plan);
    std::vector<uint64_t> next(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) // that of the next epoch
      next[i] = steps.size() +
                static_cast<size_t>(
                  std::ranges::find(steps, i, &std::pair<size_t, uint64_t>::first) - steps.begin());
    for (uint64_t step = steps.size(); step-- > 0;) {
      const auto [holding, number] = steps[step];
      ASSERT_EQ(plan.holding_of(step, 0), holding) << round;
      ASSERT_EQ(plan.rows_of(step).begin, number * plan.batch_size) << round;
      next[holding] = step;
      for (size_t i = 0; i < rows.size(); ++i)
        ASSERT_EQ(plan.next_step_of(i, step), next[i]) << round << ' ' << step << ' ' << i;
    }
  }
}

TEST(evaluation_rows, no_chunk_is_of_two_holdings) {
  const auto rows = evaluated_rows(600, 3, {{10, 300, 1}, {10, 0, 1}, {10, 300, 1}});
  EXPECT_EQ(rows.test.chunk_count(), 4u);
  EXPECT_EQ(rows.rows_of_chunk(1), (index_range{256, 300}));
  EXPECT_EQ(rows.rows_of_chunk(2), (index_range{300, 556}));
  EXPECT_EQ(rows.test.chunks_of(2), (index_range{2, 4}));
  EXPECT_EQ(rows.chunk_count(), 7u);
  EXPECT_EQ(rows.rows_of_chunk(6), (index_range{2, 3}));
  const auto given = evaluated_rows(600, 0, {{10, 0, 0}, {10, 0, 0}});
  EXPECT_EQ(given.test.chunk_count(), 3u) << "a file that all read is no holding's";
}

} // namespace
} // namespace troupe::timeline_test
