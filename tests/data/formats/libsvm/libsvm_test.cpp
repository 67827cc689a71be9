// What the reader of sparse text takes, and what it says about everything else.

#include "troupe/data/formats/libsvm/libsvm.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/gzip_text.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

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
  try {
    read_libsvm(path, options);
    ADD_FAILURE() << "was read";
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), path + where);
    EXPECT_FALSE(error.hint().empty());
    for (const auto& part : said)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what() << "\n  lacks: " << part;
  }
}

const libsvm_options from_zero{.index_base = 0};

} // namespace

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
  expect_refused("1 4000000000:1\n", ":1:3", {"'4000000000' is too large", "1000000 features"});
  expect_refused("1 99999999999999999999:1\n", ":1:3", {"too large"});
  expect_refused("1 4:1\n", ":1:3", {"there may be 3"}, {.features_max = 3});
  // 4 Mi values are always allowed: 4 rows of a million features, with 14 bytes of text at most
  // each.
  std::string text = "1 1000000:1\n1\n1\n1\n";
  EXPECT_EQ(read_text(text).features.size(), 4'000'000u);
  expect_refused(text + "1\n", ":5:1", {"5 rows of 1000000 features", "for 20 bytes of text"});
}

TEST(libsvm, lines_are_bounded) {
  expect_refused("1 1:1\n1 2:" + std::string(400'000, '1'), ":2:1", {"longer than 100 bytes"},
                 {.line_bytes_max = 100});
}

} // namespace troupe
