// Which rows of the data a step trains on, as people count them: the rows of each way of splitting are found again.

#include "actors/base/job_rows.hpp"

#include "coordinators/step/timeline.hpp"
#include "data/training_rows/prepare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace troupe::job_rows_test {
namespace {

constexpr uint64_t seed = 5;
constexpr size_t row_count = 40;

/// The feature of a row says which row it was.
dataset numbered_rows() {
  dataset x;
  x.row_count = row_count;
  x.feature_count = x.target_count = 1;
  x.feature_names = {"number"};
  x.target_names = {"y"};
  x.targets.resize(row_count);
  for (size_t i = 0; i < row_count; ++i)
    x.features.push_back(static_cast<float>(i));
  return x;
}

struct named_rows {
  std::shared_ptr<const prepared_data> data;
  row_namer names;
};

named_rows prepared(const prepare_options& options, const part_fractions& kept,
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
  result.names = {rows, seed, "", kept, options.chunk_rows, result.data->source_rows};
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

} // namespace

TEST(row_namer, finds_the_rows_of_each_way_to_split) {
  const part_fractions kept{0.2, 0.1};
  expect_true_names(prepared({seed}, {}));
  expect_true_names(prepared({seed, kept.test, false, kept.validation}, kept));
  expect_true_names(prepared({seed, kept.test, false, kept.validation, 8}, kept));
  expect_true_names(prepared({seed, 0.2, false, 0, 0, false, {1, 4}}, {0.2, 0}));
}

TEST(row_namer, rows_of_files_of_their_own_are_none_of_the_data) {
  const auto x =
    prepared({seed, 0.2}, {0.2, 0}, [](prepared_data& data) { data.validation = numbered_rows(); });
  expect_true_names(x);
}

TEST(row_namer, counts_from_one_and_names_a_few) {
  auto x = prepared({seed}, {});
  const auto first = x.names.rows_of(0, 0).front();
  EXPECT_EQ(x.names.words(0, std::vector<size_t>{}), "rows of the data");
  const auto words = x.names.words(0, std::vector<size_t>{0});
  EXPECT_NE((' ' + words + ' ').find(' ' + std::to_string(first + 1)), std::string::npos) << words;
  EXPECT_TRUE(words.starts_with("rows ") && words.ends_with(" of the data")) << words;
  x.names.file = "digits.csv";
  const auto all = x.names.words(0, 12, std::vector<size_t>{0, 1});
  EXPECT_TRUE(all.ends_with(" more of digits.csv")) << all;
}

} // namespace troupe::job_rows_test
