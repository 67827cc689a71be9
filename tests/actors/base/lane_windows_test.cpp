#include "actors/base/job_rows.hpp"

#include "coordinators/step/timeline.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/training_rows/prepare.hpp"
#include "data/training_rows/stored_source.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>
#include <utility>

namespace troupe::lane_windows_test {
namespace {

constexpr size_t row_count = 500;
constexpr size_t chunk_rows = 16;

dataset some_rows() {
  synthetic_options options;
  options.rows = row_count;
  options.features = 4;
  options.classes = 5;
  return make_classification(options, 3);
}

lane_options lanes_of(const row_source& rows, size_t slices) {
  lane_options result;
  result.seed = 9;
  result.plan = {rows.row_count(), 40, slices, 3, std::nullopt, 1};
  result.chunk_begins = rows.chunk_begins();
  result.window_chunks = 2;
  return result;
}

struct both_sources {
  both_sources() {
    const auto path = folder.path("rows");
    write_rows(path, some_rows(), chunk_rows);
    const prepare_options options{1, {0.1}, true, chunk_rows};
    memory = rows_of(std::make_shared<const prepared_data>(prepare(some_rows(), options))).train;
    file = rows_of(std::make_shared<const prepared_data>(
                     prepare_stored(std::make_shared<rows_file>(path), options)))
             .train;
  }

  temporary_folder folder;
  std::shared_ptr<const row_source> memory;
  std::shared_ptr<const row_source> file;
};

void expect_same(const batch& a, const batch& b) {
  ASSERT_TRUE(std::ranges::equal(a.features, b.features));
  ASSERT_TRUE(std::ranges::equal(a.labels, b.labels));
  ASSERT_TRUE(std::ranges::equal(a.row_numbers, b.row_numbers));
}

TEST(lane_windows, memory_and_disk_give_the_same_rows_each_once_an_epoch) {
  const both_sources rows;
  const auto options = lanes_of(*rows.memory, 3);
  lane_windows in_memory{rows.memory, options}, in_file{rows.file, options};
  batch_reader one, other;
  const auto steps = options.plan.steps_in_epoch();
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<uint32_t> seen;
    for (uint64_t step = epoch * steps; step < (epoch + 1) * steps; ++step)
      for (size_t slice = 0; slice < 3; ++slice) {
        const auto found = in_memory.of_slice(step, slice, one);
        expect_same(found, in_file.of_slice(step, slice, other));
        ASSERT_EQ(found.row_count, options.plan.rows_of_slice(step, slice).size());
        seen.insert(found.row_numbers.begin(), found.row_numbers.end());
      }
    EXPECT_EQ(seen.size(), rows.memory->row_count());
  }
}

// A slice that moves, a term that begins anew: any order of steps, from any thread.
TEST(lane_windows, rows_do_not_depend_on_who_asks_and_when) {
  const both_sources rows;
  const auto options = lanes_of(*rows.memory, 4);
  lane_windows straight{rows.memory, options}, shared{rows.file, options};
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      batch_reader one;
      for (uint64_t i = 0; i < options.plan.last_version(); ++i) {
        const auto step = k % 2 ? options.plan.last_version() - 1 - i : i;
        const auto found = shared.of_slice(step, (k + step) % 4, one);
        batch_reader other;
        lane_windows anew{rows.memory, options};
        expect_same(found, anew.of_slice(step, (k + step) % 4, other));
      }
    });
  for (auto& thread : threads)
    thread.join();
}

TEST(lane_mixing, sorted_rows_are_told_from_mixed_ones) {
  auto sorted = some_rows();
  for (size_t i = 0; i < row_count; ++i)
    sorted.labels[i] = static_cast<int32_t>(i * 5 / row_count);
  const prepare_options options{1, {}, false, chunk_rows};
  const auto missed_in = [&](const dataset& rows, size_t window_chunks, uint64_t seed) {
    const auto data = std::make_shared<const prepared_data>(prepare(dataset{rows}, options));
    const auto source = rows_of(data).train;
    auto lanes = lanes_of(*source, 2);
    lanes.window_chunks = window_chunks;
    lanes.seed = seed;
    return class_missed_by_windows(*source, lanes, std::vector<size_t>(5, row_count / 5));
  };
  size_t missed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    missed += missed_in(sorted, 4, seed).has_value();
    EXPECT_FALSE(missed_in(some_rows(), 4, seed)) << seed;
    EXPECT_FALSE(missed_in(sorted, 100, seed)) << "a window of all rows mixes them";
  }
  EXPECT_GE(missed, 5u) << "8 of 32 chunks have none of a class in 6 of 10 orders";
}

// Which rows of the data a step trains on, as people count them: the rows of each way of splitting are found again.

constexpr uint64_t seed = 5;
constexpr size_t numbered_count = 40;

/// The feature of a row says which row it was.
dataset numbered_rows() {
  dataset x;
  x.row_count = numbered_count;
  x.feature_count = x.target_count = 1;
  x.feature_names = {"number"};
  x.target_names = {"y"};
  x.targets.resize(numbered_count);
  for (size_t i = 0; i < numbered_count; ++i)
    x.features.push_back(static_cast<float>(i));
  return x;
}

struct named_rows {
  std::shared_ptr<const prepared_data> data;
  row_namer names;
};

named_rows prepared(const prepare_options& options,
                    const std::function<void(prepared_data&)>& change = {}) {
  auto data = prepare(numbered_rows(), options);
  if (change)
    change(data);
  named_rows result;
  result.data = std::make_shared<const prepared_data>(std::move(data));
  timeline plan;
  plan.row_count = result.data->train.row_count;
  plan.batch_size = 7;
  plan.slice_count = 2;
  plan.epoch_count = 2;
  const auto rows = std::make_shared<const job_rows>(rows_of(result.data), plan, seed, 1);
  result.names = {rows, seed, "", options.parts, options.chunk_rows, result.data->source_rows};
  return result;
}

void expect_true_names(const named_rows& x) {
  batch_reader reader;
  for (uint64_t step = 0; step < 8; ++step)
    for (size_t slice = 0; slice < 2; ++slice) {
      const auto seen = x.names.rows->of_slice(step, slice, reader).features;
      const auto named = x.names.rows_of(step, slice);
      EXPECT_TRUE(std::ranges::equal(seen, named, {}, {}, [](size_t i) { return float(i); }))
        << "step " << step << ", slice " << slice;
    }
}

TEST(row_namer, finds_the_rows_of_each_way_to_split) {
  expect_true_names(prepared({seed}));
  expect_true_names(prepared({seed, {0.2, 0.1}}));
  expect_true_names(prepared({seed, {0.2, 0.1}, false, 8}));
  expect_true_names(prepared({seed, {0.2, 0, false, 4, 1}}));
}

TEST(row_namer, rows_of_files_of_their_own_are_none_of_the_data) {
  const auto x =
    prepared({seed, {0.2}}, [](prepared_data& data) { data.validation = numbered_rows(); });
  expect_true_names(x);
}

TEST(row_namer, counts_from_one_and_names_a_few) {
  auto x = prepared({seed});
  const auto first = x.names.rows_of(0, 0).front();
  EXPECT_EQ(x.names.words(0, std::vector<size_t>{}), "rows of the data");
  const auto words = x.names.words(0, std::vector<size_t>{0});
  EXPECT_NE((' ' + words + ' ').find(' ' + std::to_string(first + 1)), std::string::npos) << words;
  EXPECT_TRUE(words.starts_with("rows ") && words.ends_with(" of the data")) << words;
  x.names.file = "digits.csv";
  const auto all = x.names.words(0, 12, std::vector<size_t>{0, 1});
  EXPECT_TRUE(all.ends_with(" more of digits.csv")) << all;
}

} // namespace
} // namespace troupe::lane_windows_test
