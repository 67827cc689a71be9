// A job's data options reach the reader of each format.

#include "actors/run/job_data.hpp"

#include "data/text/failure.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::job_data_test {
namespace {

using namespace std::string_literals;

dataset load(const std::string& path, data_options options = {}) {
  job x;
  options.file = path;
  x.data = options;
  return load_data(x)->train;
}

TEST(job_data, csv_takes_header_and_target) {
  temporary_folder folder;
  data_options options;
  options.header = csv_header::yes;
  options.target = "7";
  const auto rows = load(folder.write("rows", "7,8\na,1\nb,2\n"), options);
  EXPECT_EQ(rows.features, (std::vector<float>{1, 2}));
  EXPECT_EQ(rows.classes, (std::vector<std::string>{"a", "b"}));
}

TEST(job_data, libsvm_takes_the_index_base) {
  temporary_folder folder;
  const auto path = folder.write("rows", "1 1:5\n2 2:6\n");
  EXPECT_EQ(load(path).feature_count, 2u);
  data_options options;
  options.index_base = 0;
  EXPECT_EQ(load(path, options).feature_count, 3u);
  options.format = file_format::csv;
  EXPECT_THROW(load(path, options), failure);
}

TEST(job_data, arrays_take_the_file_of_labels_or_a_column) {
  temporary_folder folder;
  const auto path = folder.write("rows", "\0\0\x08\2\0\0\0\2\0\0\0\2\1\2\3\4"s);
  data_options options;
  options.labels_file = folder.write("labels", "\0\0\x08\1\0\0\0\2\7\3"s);
  auto rows = load(path, options);
  EXPECT_EQ(rows.features, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(rows.targets, (std::vector<float>{7, 3}));
  options = {};
  options.target = "0";
  options.format = file_format::idx;
  rows = load(path, options);
  EXPECT_EQ(rows.features, (std::vector<float>{2, 4}));
  options.format = file_format::npy;
  EXPECT_THROW(load(folder.write("rows.csv", "1,2\n"), options), failure);
}

TEST(job_data, rows_in_memory_refuse_what_says_how_a_file_is_read) {
  dataset rows;
  rows.row_count = 2;
  rows.feature_count = 1;
  rows.features = {1, 2};
  rows.feature_names = {"a"};
  rows.targets = {1, 2};
  rows.target_count = 1;
  rows.target_names = {"y"};
  using change = void (*)(data_options&);
  const std::pair<std::string, change> keys[] = {
    {"data.ignore", [](data_options& x) { x.ignore = {"a"}; }},
    {"data.categorical", [](data_options& x) { x.categorical = {"a"}; }},
    {"data.boolean", [](data_options& x) { x.boolean = {"a"}; }},
    {"data.date", [](data_options& x) { x.date = {"a"}; }},
    {"data.missing", [](data_options& x) { x.missing = missing_rule::mean; }},
    {"data.weight", [](data_options& x) { x.weight = "a"; }},
    {"data.split_by", [](data_options& x) { x.split_by = "a"; }},
    {"data.separator", [](data_options& x) { x.cells.separator = ";"; }},
    {"data.quote", [](data_options& x) { x.cells.quote = "'"; }},
    {"data.decimal", [](data_options& x) { x.cells.decimal = ","; }},
    {"data.comment", [](data_options& x) { x.cells.comment = "#"; }},
    {"data.skip_lines", [](data_options& x) { x.cells.skip_lines = 1; }},
    {"data.labels_file", [](data_options& x) { x.labels_file = "labels"; }},
    {"data.target", [](data_options& x) { x.target = "a"; }},
    {"data.header", [](data_options& x) { x.header = csv_header::no; }},
    {"data.index_base", [](data_options& x) { x.index_base = 0; }},
    {"data.hash_bits", [](data_options& x) { x.hash_bits = 10; }},
    {"data.format", [](data_options& x) { x.format = file_format::csv; }},
    {"data.test_file", [](data_options& x) { x.test_file = "test.csv"; }},
    {"data.validation_file", [](data_options& x) { x.validation_file = "test.csv"; }}};
  for (const auto& [key, apply] : keys) {
    job x;
    apply(x.data);
    const auto error = test::failure_of([&] { prepare_data(x, rows); });
    EXPECT_EQ(error.where(), key);
  }
  EXPECT_EQ(prepare_data({}, rows)->train.row_count, 2u);
}

TEST(job_data, rows_in_memory_that_do_not_hold_together_are_refused) {
  dataset rows;
  rows.row_count = 2;
  rows.feature_count = 1;
  rows.features = {1, 2};
  rows.feature_names = {"a"};
  rows.labels = {0, 7};
  rows.classes = {"no", "yes"};
  rows.target_names = {"y"};
  const auto error = test::failure_of([&] { prepare_data({}, rows); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_EQ(error.reason(),
            "the data set does not hold together: row 1, 'labels': 7 is the number of no name");
}

TEST(job_data, weights_and_groups_come_with_their_rows) {
  temporary_folder folder;
  std::string text = "who,a,w,y\n";
  for (int i = 0; i < 40; ++i)
    text += "p" + std::to_string(i % 8) + ',' + std::to_string(i) + ',' + std::to_string(i % 3) +
            ',' + std::to_string(i % 3) + ".5\n";
  job x;
  x.data.file = folder.write("rows.csv", text);
  x.data.weight = "w";
  x.data.split_by = "who";
  x.data.test_fraction = 0.25;
  x.data.validation_file = x.data.file;
  const auto data = load_data(x);
  EXPECT_EQ(data->test.row_count, 10u) << "two groups of five";
  EXPECT_EQ(data->validation.row_count, 40u);
  EXPECT_TRUE(data->train.groups.empty());
  EXPECT_TRUE(shape_of(*data).weighted);
  for (const auto* part : {&data->train, &data->test, &data->validation})
    for (size_t i = 0; i < part->row_count; ++i)
      EXPECT_EQ(part->weights.at(i) + 0.5f, part->targets[i]);
}

std::string csv_of(const dataset& rows, const std::vector<size_t>& order) {
  std::string result;
  for (const auto column : order)
    result += rows.feature_names[column] + ',';
  result += "y\n";
  for (size_t i = 0; i < rows.row_count; ++i) {
    for (const auto column : order)
      result += fmt::format("{:.9g},", rows.row(i)[column]);
    result += "class " + rows.classes[static_cast<size_t>(rows.labels[i])] + '\n';
  }
  return result;
}

TEST(job_data, holdings_of_an_application_are_those_of_files) {
  job x;
  x.model.loss = loss_kind::categorical_cross_entropy;
  x.data.standardize = true;
  x.data.test_fraction = 0.25;
  std::vector<dataset> holdings;
  temporary_folder folder;
  for (const size_t rows : {40, 9}) {
    auto one =
      make_classification({.rows = rows, .features = 3, .classes = rows == 9 ? 2u : 3u}, rows);
    const bool is_small = rows == 9;
    folder.write(
      is_small ? "b.csv" : "a.csv",
      csv_of(one, is_small ? std::vector<size_t>{2, 0, 1} : std::vector<size_t>{0, 1, 2}));
    for (auto& name : one.classes)
      name = "class " + name;
    one.target_names = {"y"};
    if (is_small) // its columns in the order of its file
      for (size_t i = 0; i < rows; ++i)
        std::rotate(one.features.begin() + static_cast<std::ptrdiff_t>(3 * i),
                    one.features.begin() + static_cast<std::ptrdiff_t>(3 * i + 2),
                    one.features.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
    if (is_small)
      std::rotate(one.feature_names.begin(), one.feature_names.begin() + 2,
                  one.feature_names.end());
    holdings.push_back(std::move(one));
  }
  auto of_files = x;
  of_files.data.holdings = folder.path("*.csv");
  const auto files = load_data(of_files), own = prepare_own_holdings(x, holdings);
  ASSERT_EQ(own->holdings.size(), 2u);
  EXPECT_EQ(own->train.features, files->train.features);
  EXPECT_EQ(own->train.labels, files->train.labels);
  EXPECT_EQ(own->test.features, files->test.features);
  EXPECT_EQ(own->features, files->features);
  EXPECT_EQ(own->fingerprint, files->fingerprint);
  holdings[1].feature_names[1] = "z";
  EXPECT_NE(test::failure_of([&] { prepare_own_holdings(x, holdings); }).where().find("holding"),
            std::string::npos);
  x.training.strategy = strategy_kind::federated;
  EXPECT_EQ(test::failure_of([&] { prepare_own_holdings(x, holdings); }).code(),
            failure_code::bad_job);
}

} // namespace
} // namespace troupe::job_data_test
