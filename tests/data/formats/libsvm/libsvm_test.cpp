// What the reader of sparse text takes, and what it says about everything else.

#include "data/formats/libsvm/libsvm.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/joined_rows.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::libsvm_test {
namespace {

table read_text(const std::string& content, const libsvm_options& options = {}) {
  temporary_folder folder;
  return read_libsvm(folder.write("rows.svm", content), options);
}

void expect_refused(const std::string& content, const std::string& where,
                    const std::vector<std::string>& said, const libsvm_options& options = {}) {
  SCOPED_TRACE(content.substr(0, 60));
  temporary_folder folder;
  const auto path = folder.write("rows.svm", content);
  const auto error = test::failure_of([&] { read_libsvm(path, options); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_EQ(error.where(), path + where);
  EXPECT_FALSE(error.hint().empty());
  for (const auto& part : said)
    EXPECT_TRUE(test::contains(error.what(), part));
}

const libsvm_options from_zero{.index_base = 0};
const libsvm_options dense{.form = row_form::dense};

TEST(libsvm, entries_stand_in_their_column_and_the_rest_is_zero) {
  for (const auto& text : {std::string("+1 1:0.5 3:-2\n-1\n+1 2:1e2 \r\n"),
                           gzip_text("+1 1:0.5 3:-2\n-1\n+1 2:1e2")}) {
    const auto rows = read_text(text);
    EXPECT_EQ(rows.row_count, 3u);
    EXPECT_EQ(rows.feature_count, 3u);
    EXPECT_EQ(rows.features, (std::vector<float>{0.5, 0, -2, 0, 0, 0, 0, 100, 0}));
    EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"1", "2", "3"}));
    EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"+1", "-1", "+1"}));
    EXPECT_EQ(rows.target_numbers, (std::vector<double>{1, -1, 1}));
    EXPECT_EQ(rows.target_name, "label");
  }
}

TEST(libsvm, features_can_be_counted_from_zero) {
  const auto rows = read_text("1 0:5 2:6\n", from_zero);
  EXPECT_EQ(rows.features, (std::vector<float>{5, 0, 6}));
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"0", "1", "2"}));
  expect_refused("1 0:5\n", ":1:3", {"'0' is below the first, 1", "index_base = 0"});
  EXPECT_THROW(read_text("1 2:5\n", {.index_base = 2}), std::invalid_argument);
}

TEST(libsvm, comments_and_empty_lines_at_the_end_do_not_count) {
  const auto rows =
    read_text("# made \"by hand\nred 1:2 # a: \"comment\"\n  # more\nblue 2:1#\n\n \n");
  EXPECT_EQ(rows.features, (std::vector<float>{2, 0, 0, 1}));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"red", "blue"}));
  EXPECT_EQ(rows.first_text_line, 2u);
  EXPECT_TRUE(rows.target_numbers.empty());
  expect_refused("1 1:1\n\n1 1:1\n", ":2:1", {"line is empty"});
}

TEST(libsvm, bad_rows_are_refused_where_they_stand) {
  expect_refused("1 1:1\n1:2 3:4\n", ":2:1", {"'1:2'", "label is missing"});
  expect_refused("1 1:1 7\n", ":1:7", {"'7' is no entry"});
  expect_refused("1 1: 7\n", ":1:5", {"'' of feature 1 is not a number"});
  expect_refused("1 1:1 a:7\n", ":1:7", {"'a' is not a whole number"});
  expect_refused("1 qid:3 1:7\n", ":1:3", {"'qid'", "remove qid"});
  expect_refused("1 -1:7\n", ":1:3", {"'-1'"});
  expect_refused("1 1:x\n", ":1:5", {"'x' of feature 1 is not a number"});
  expect_refused("1 1:nan\n", ":1:5", {"'nan' of feature 1 is not a finite"});
  expect_refused("1 1:1e40\n", ":1:5", {"does not fit"});
  expect_refused("nan 1:1\n", ":1:1", {"'nan' is not a finite"});
  expect_refused("\xe4 1:1\n", ":1:1", {"not UTF-8"});
  expect_refused("1 2:1 2:1\n", ":1:7", {"'2' does not come after", "2"});
  expect_refused("1 3:1 2:1\n", ":1:7", {"'2' does not come after the one before it, 3"});
  expect_refused("", ":1:1", {"empty"});
  expect_refused("1\n2\n", ":1:1", {"no row has a feature"});
}

TEST(libsvm, a_lying_index_takes_no_memory) {
  expect_refused("1 4000000000:1\n", ":1:3", {"'4000000000' is too large", "1000000000 features"});
  expect_refused("1 99999999999999999999:1\n", ":1:3", {"too large"});
  expect_refused("1 4:1\n", ":1:3", {"there may be 3"}, {.features_max = 3});
  // 4 Mi values are always allowed: 4 rows of a million features, with 14 bytes of text at most
  // each.
  std::string text = "1 1000000:1\n1\n1\n1\n";
  EXPECT_EQ(read_text(text, dense).features.size(), 4'000'000u);
  expect_refused(text + "1\n", ":5:1", {"5 dense rows of 1000000 features", "20 bytes of text"},
                 dense);
  // Sparse rows take what is there.
  const auto rows = read_text(text + "1\n");
  EXPECT_EQ(rows.feature_count, 1'000'000u);
  EXPECT_TRUE(rows.features.empty());
  EXPECT_EQ(rows.sparse, (sparse_matrix{{0, 1, 1, 1, 1, 1}, {999'999}, {1}}));
}

TEST(libsvm, rows_are_dense_where_features_are_few_or_most_values_are_there) {
  const auto is_dense = [](const std::string& text, const libsvm_options& options = {}) {
    const auto rows = read_text(text, options);
    EXPECT_EQ(rows.features.empty(), rows.sparse.exists());
    return !rows.features.empty();
  };
  EXPECT_TRUE(is_dense("1 256:1\n"));
  EXPECT_FALSE(is_dense("1 257:1\n"));
  EXPECT_FALSE(is_dense("1 1:1\n", {.form = row_form::sparse}));
  EXPECT_TRUE(is_dense("1 257:1\n", dense));
  std::string text = "1";
  for (int i = 1; i <= 100; ++i)
    text += " " + std::to_string(4 * i) + ":1";
  EXPECT_TRUE(is_dense(text + "\n"));
  EXPECT_FALSE(is_dense(text + "\n1 1:1\n"));
  // A table that is too large to be dense stays sparse, whatever it holds.
  std::string large;
  for (int i = 0; i < 40'000; ++i)
    large += "1 256:1\n";
  EXPECT_FALSE(is_dense(large));
}

TEST(libsvm, sparse_rows_are_what_dense_ones_hold) {
  const std::string text = "1 1:0.5 3:-2\n2\n1 2:1e2 5:0\n";
  const auto rows = read_text(text, {.form = row_form::sparse});
  EXPECT_EQ(rows.row_count, 3u);
  EXPECT_EQ(rows.feature_count, 5u);
  EXPECT_TRUE(rows.feature_names.empty());
  EXPECT_EQ(rows.sparse, (sparse_matrix{{0, 2, 2, 4}, {0, 2, 1, 4}, {0.5, -2, 100, 0}}));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"1", "2", "1"}));
}

// More entries than one block of the list: they come out in order.
TEST(libsvm, many_entries_keep_their_order) {
  std::string text;
  for (int row = 0; row < 3'000; ++row) {
    text += "1";
    for (int i = 1; i <= 100; ++i)
      text += " " + std::to_string(10 * i) + ":" + std::to_string(row % 7 + i);
    text += "\n";
  }
  const auto rows = read_text(text);
  ASSERT_EQ(rows.sparse.values.size(), 300'000u);
  for (size_t i = 0; i < 300'000; ++i) {
    ASSERT_EQ(rows.sparse.features[i], 10 * (i % 100 + 1) - 1);
    ASSERT_EQ(rows.sparse.values[i], static_cast<float>(i / 100 % 7 + i % 100 + 1));
  }
}

// SplitMix64 by hand in Python: of 16 columns the numbers 1, 2, 3, 4, 4000 and 999999999 are 1, 14, 13,
// 10, 6 and 10, with the signs -, -, +, +, - and +.
TEST(libsvm, hashed_features_share_columns) {
  const std::string text = "1 1:1 2:2 3:4 4:8\n1 4:2 4000:1 999999999:5\n";
  libsvm_options options{.hash_bits = 4, .form = row_form::sparse};
  const auto rows = read_text(text, options);
  EXPECT_EQ(rows.feature_count, 16u);
  EXPECT_EQ(rows.sparse, (sparse_matrix{{0, 4, 6}, {1, 10, 13, 14, 6, 10}, {-1, 8, 4, -2, -1, 7}}));
  // Whatever the base, a feature is hashed by the number that the file gives it.
  options.index_base = 0;
  EXPECT_EQ(read_text(text, options).sparse, rows.sparse);
  options.form = row_form::dense;
  EXPECT_EQ(read_text("1 1:1 4:8\n", options).features,
            (std::vector<float>{0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0}));
  EXPECT_THROW(read_text("1 1:1\n", {.hash_bits = 31}), std::invalid_argument);
  expect_refused("1 4:3e38 999999999:3e38\n", ":1:1", {"no finite number"}, {.hash_bits = 4});
}

TEST(libsvm, lines_are_bounded) {
  expect_refused("1 1:1\n1 2:" + std::string(400'000, '1'), ":2:1", {"longer than 100 bytes"},
                 {.line_bytes_max = 100});
}

TEST(libsvm, features_that_lose_digits_as_float32_are_named) {
  std::string rows;
  for (int i = 0; i < 40; ++i)
    rows += "1 2:0." + std::to_string(123456789 + i * 12345678) +
            " 7:" + std::to_string(1'700'000'000'000 + i * 100) + '\n';
  for (const auto form : {row_form::dense, row_form::sparse}) {
    const auto said = read_text(rows, {.form = form}).remarks;
    ASSERT_EQ(said.size(), 1u);
    EXPECT_TRUE(test::contains(said[0], "'7' loses digits: 40 different numbers are 1"));
  }
}

std::string place_of(const std::function<void()>& action) {
  const auto error = test::failure_of(action);
  EXPECT_EQ(error.code(), failure_code::bad_data);
  return error.where().substr(error.where().rfind('/') + 1) + " " + error.reason();
}

TEST(libsvm_reader, parts_are_the_rows_of_the_whole_whatever_their_size) {
  std::string text = "# a comment\n";
  for (int i = 0; i < 50; ++i)
    text += "class" + std::to_string(i % 3) + " 2:" + std::to_string(i * 0.25) +
            (i % 2 ? " 5:1\n" : "\n");
  const temporary_folder folder;
  const auto path = folder.write("rows.svm", text);
  for (size_t base : {0, 1}) {
    const auto whole = read_libsvm(path, {.index_base = base});
    for (size_t rows_max : {1, 7, 50, 1000}) {
      libsvm_reader reader(path, whole.feature_count, {base});
      const auto all = test::joined_rows(reader, rows_max);
      EXPECT_EQ(all.features, whole.features);
      EXPECT_EQ(all.target_cells, whole.target_cells);
      EXPECT_EQ(all.lines.front(), 2u);
      EXPECT_EQ(all.lines.back(), 51u);
      EXPECT_EQ(reader.feature_names(), whole.feature_names);
      EXPECT_EQ(reader.column_names().back(), whole.target_name);
    }
  }
}

TEST(libsvm_reader, sparse_parts_are_the_sparse_rows_of_the_whole) {
  const temporary_folder folder;
  const auto path = folder.write("rows.svm", "1 1:5 9:2\n2\n1 2:1\n2 9:4\n");
  for (const size_t bits : {0, 4}) {
    const libsvm_options options{.hash_bits = bits, .form = row_form::sparse};
    const auto whole = read_libsvm(path, options);
    libsvm_reader reader(path, whole.feature_count, options);
    EXPECT_EQ(reader.column_names(), (std::vector<std::string>{"label"}));
    table_chunk rows;
    sparse_matrix all{{0}, {}, {}};
    while (reader.next(rows, 3)) {
      EXPECT_TRUE(rows.features.empty());
      EXPECT_EQ(rows.rows().sparse.row_count(), rows.row_count);
      for (size_t i = 1; i < rows.sparse.starts.size(); ++i)
        all.starts.push_back(all.features.size() + rows.sparse.starts[i]);
      all.features.insert(all.features.end(), rows.sparse.features.begin(),
                          rows.sparse.features.end());
      all.values.insert(all.values.end(), rows.sparse.values.begin(), rows.sparse.values.end());
    }
    EXPECT_EQ(all, whole.sparse);
  }
}

TEST(libsvm_reader, rows_have_as_many_features_as_the_model_takes) {
  const temporary_folder folder;
  libsvm_reader reader(folder.write("rows.svm", "1 1:5\n2 2:1\n3 4:1\n"), 3);
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 2));
  EXPECT_EQ(rows.features, (std::vector<float>{5, 0, 0, 0, 1, 0}));
  EXPECT_EQ(place_of([&] { reader.next(rows, 2); }),
            "rows.svm:3:3 the index '4' is too large: there may be 3 features");
}

TEST(libsvm_reader, a_target_is_told_by_its_line) {
  const temporary_folder folder;
  libsvm_reader reader(folder.write("rows.svm", "# none\n1 1:5\n2 2:1\n"), 3);
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 2));
  EXPECT_EQ(place_of([&] { reader.fail_at_target(rows, 1, "bad", ""); }), "rows.svm:3 bad");
}

TEST(libsvm_reader, files_without_rows_are_refused) {
  const temporary_folder folder;
  libsvm_reader reader(folder.write("rows.svm", "# none\n"), 3);
  table_chunk rows;
  EXPECT_EQ(place_of([&] { reader.next(rows, 2); }), "rows.svm:1:1 the file is empty");
}

} // namespace
} // namespace troupe::libsvm_test
