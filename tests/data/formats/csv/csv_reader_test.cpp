// The part-by-part reader: the same rows and the same complaints as the reader of whole files.

#include "data/formats/csv/csv_reader.hpp"

#include "data/formats/csv/csv.hpp"
#include "data/text/failure.hpp"
#include "tests/support/joined_rows.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::csv_reader_test {
namespace {

class csv_parts : public testing::Test {
protected:
  csv_reader open(std::string_view text, csv_header header = csv_header::automatic) {
    return {folder.write("rows.csv", text), header};
  }

  // Where and why the file is refused, by this reader or, with `whole`, by read_csv.
  std::string complaint(std::string_view text, bool whole) {
    try {
      auto path = folder.write("rows.csv", text);
      if (whole) {
        read_csv(path);
        return "accepted";
      }
      csv_reader reader{path, csv_header::automatic};
      reader.set_targets({reader.column_count() - 1});
      for (table_chunk rows; reader.next(rows, 2);) {
      }
      return "accepted";
    } catch (const failure& problem) {
      EXPECT_EQ(problem.code(), failure_code::bad_data);
      return problem.where().substr(folder.path().size()) + " " + problem.reason();
    }
  }

  temporary_folder folder;
};

} // namespace

TEST_F(csv_parts, are_the_rows_of_the_whole_whatever_their_size) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 50; ++i)
    text += std::to_string(i) + "," + std::to_string(i * 0.25) + ",\"class " +
            std::to_string(i % 3) + "\"\r\n";
  const auto whole = read_csv(folder.write("rows.csv", text));
  for (size_t rows_max : {1, 7, 50, 1000}) {
    auto reader = open(text);
    reader.set_targets({2});
    const auto all = test::joined_rows(reader, rows_max);
    EXPECT_EQ(all.features, whole.features);
    EXPECT_EQ(all.target_cells, whole.target_cells);
    EXPECT_EQ(all.lines.front(), 2u);
    EXPECT_EQ(all.lines.back(), 51u);
    EXPECT_EQ(reader.feature_names(), whole.feature_names);
  }
}

TEST_F(csv_parts, of_a_file_without_header_begin_with_row_1) {
  auto reader = open("1,2\n3,4\n");
  EXPECT_FALSE(reader.has_header());
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 10));
  EXPECT_EQ(rows.features, (std::vector<float>{1, 2, 3, 4})) << "no targets: all are features";
  EXPECT_TRUE(rows.target_cells.empty());
  EXPECT_FALSE(reader.next(rows, 10));
  EXPECT_EQ(rows.row_count, 0u);
}

TEST_F(csv_parts, have_as_many_targets_as_are_asked_for_in_that_order) {
  auto reader = open("a,b,c\n1,2,3\n4,5,6\n");
  reader.set_targets({2, 0});
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 10));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"3", "1", "6", "4"}));
  EXPECT_EQ(rows.features, (std::vector<float>{2, 5}));
  EXPECT_THROW(reader.set_targets({3}), std::invalid_argument);
  EXPECT_THROW(reader.set_targets({1, 1}), std::invalid_argument);
}

TEST_F(csv_parts, tell_the_numbers_of_targets_and_which_are_text) {
  for (const auto* mark : {"", "\""}) { // the short way, and the long one
    const auto quoted = [&](const std::string& cell) { return mark + cell + mark; };
    auto reader = open("a,b\n1," + quoted("2.5") + "\n3," + quoted("x") + "\n4,7\n");
    reader.set_targets({1});
    table_chunk rows;
    ASSERT_TRUE(reader.next(rows, 10));
    ASSERT_EQ(rows.target_numbers.size(), 3u);
    EXPECT_EQ(rows.target_numbers[0], 2.5);
    EXPECT_TRUE(std::isnan(rows.target_numbers[1]));
    EXPECT_EQ(rows.target_numbers[2], 7);
    EXPECT_EQ(rows.lines, (std::vector<size_t>{2, 3, 4}));
    ASSERT_FALSE(reader.next(rows, 10));
    EXPECT_TRUE(rows.target_numbers.empty());
  }
}

TEST_F(csv_parts, columns_are_found_by_name_index_or_as_the_last) {
  const auto reader = open("2,height,kind\n1,2,3\n", csv_header::yes);
  EXPECT_EQ(reader.find_column("last"), 2u);
  EXPECT_EQ(reader.find_column("kind"), 2u);
  EXPECT_EQ(reader.find_column("1"), 1u);
  EXPECT_EQ(reader.find_column("2"), 0u) << "digits that are a name mean that column";
}

TEST_F(csv_parts, columns_that_are_not_there_are_told_with_the_nearest) {
  const auto reader = open("width,height,kind\n1,2,3\n");
  for (const auto* wanted : {"3", "", "99999999999999999999", "hat"})
    EXPECT_THROW(reader.find_column(wanted), failure) << wanted;
  try {
    reader.find_column("widht");
    FAIL();
  } catch (const failure& problem) {
    EXPECT_EQ(problem.hint(), "did you mean 'width'?");
  }
}

TEST_F(csv_parts, features_are_those_asked_for_in_that_order) {
  auto reader = open("a,b,note,c,y\n1,2,text,3,no\n4,5,,6,yes\n");
  reader.set_targets({4});
  reader.set_features({3, 0});
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 10));
  EXPECT_EQ(rows.features, (std::vector<float>{3, 1, 6, 4}));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"no", "yes"}));
  EXPECT_THROW(reader.set_features({4}), std::invalid_argument) << "the target";
  EXPECT_THROW(reader.set_features({0, 0}), std::invalid_argument);
  EXPECT_THROW(reader.set_features({5}), std::invalid_argument);
}

// The last column is the target unless the job says otherwise.
TEST_F(csv_parts, text_where_numbers_should_be_may_be_the_target) {
  try {
    read_csv(folder.write("rows.csv", "diagnosis,size\nmalignant,3\n"));
    FAIL();
  } catch (const failure& problem) {
    EXPECT_NE(problem.hint().find("data.target = \"diagnosis\""), std::string::npos);
  }
  csv_options chosen;
  chosen.target = "size";
  try {
    read_csv(folder.path("rows.csv"), chosen);
    FAIL();
  } catch (const failure& problem) {
    EXPECT_EQ(problem.hint().find("data.target"), std::string::npos);
  }
}

TEST_F(csv_parts, complain_as_the_reader_of_whole_files_does) {
  for (const auto* text :
       {"", "a,b\n", "a,b\n1,2\n\n3,4\n", "a,b\nx,1\n", "a,b\n1,2\n1\n", "a,b\n1,2,3\n",
        "a,b\n,1\n", "a,b\n1,\n", "a,b\n\"1,2\n", "1,2\n1,2\n1\"2,3\n", "a,b\n1,2\n3,4\n5,6\nx,7\n",
        "0,1,label\n1,2,0\n3,4,1\n", "9,2,good,bad\n1,2,3\n", "a,b\n1,\xe4\n", "a,b\n1,nan\n",
        "a,b\n1,1e999\n", "a,b\n1e39,1\n", "a,a\n1,2\n", "a,\xe4\n1,2\n"})
    EXPECT_EQ(complaint(text, false), complaint(text, true)) << text;
}

} // namespace troupe::csv_reader_test
