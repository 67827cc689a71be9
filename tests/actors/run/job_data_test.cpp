// A job's data options reach the reader of each format.

#include "troupe/actors/run/job_data.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe {

namespace {

using namespace std::string_literals;

dataset load(const std::string& path, data_options options = {}) {
  job x;
  options.file = path;
  x.data = options;
  return load_data(x)->train;
}

} // namespace

TEST(job_data, csv_takes_header_and_target) {
  temporary_folder folder;
  data_options options;
  options.header = header_kind::yes;
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
  options.format = data_format::csv;
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
  options.format = data_format::idx;
  rows = load(path, options);
  EXPECT_EQ(rows.features, (std::vector<float>{2, 4}));
  options.format = data_format::npy;
  EXPECT_THROW(load(folder.write("rows.csv", "1,2\n"), options), failure);
}

} // namespace troupe
