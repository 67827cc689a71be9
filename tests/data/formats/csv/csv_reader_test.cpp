// The part-by-part reader: the same rows and the same complaints as the reader of whole files.

#include "data/formats/csv/csv_reader.hpp"

#include "data/formats/csv/csv.hpp"
#include "data/formats/csv/csv_rows.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/joined_rows.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::csv_reader_test {
namespace {

class csv_parts : public testing::Test {
protected:
  csv_reader open(std::string_view text, csv_header header = csv_header::automatic) {
    return {folder.write("rows.csv", text), header};
  }

  // Where and why the file is refused, by this reader or, with `whole`, by read_csv.
  std::string complaint(std::string_view text, bool whole) {
    const auto path = folder.write("rows.csv", text);
    const auto read = [&] {
      if (whole) {
        read_csv(path);
        return;
      }
      csv_reader reader{path, csv_header::automatic};
      reader.set_targets({reader.column_count() - 1});
      for (table_chunk rows; reader.next(rows, 2);) {
      }
    };
    const auto problem = test::failure_of(read);
    EXPECT_EQ(problem.code(), failure_code::bad_data);
    return problem.where().substr(folder.path().size()) + " " + problem.reason();
  }

  temporary_folder folder;
};

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
  const auto problem = test::failure_of([&] { reader.find_column("widht"); });
  EXPECT_EQ(problem.hint(), "did you mean 'width'?");
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
  const auto problem =
    test::failure_of([&] { read_csv(folder.write("rows.csv", "diagnosis,size\nmalignant,3\n")); });
  EXPECT_TRUE(test::contains(problem.hint(), "data.target = \"diagnosis\""));
  const auto other =
    test::failure_of([&] { read_csv(folder.path("rows.csv"), {{.target = "size"}}); });
  EXPECT_FALSE(test::contains(other.hint(), "data.target"));
}

TEST_F(csv_parts, complain_as_the_reader_of_whole_files_does) {
  for (const auto* text :
       {"", "a,b\n", "a,b\n1,2\n\n3,4\n", "a,b\nx,1\n", "a,b\n1,2\n1\n", "a,b\n1,2,3\n",
        "a,b\n,1\n", "a,b\n1,\n", "a,b\n\"1,2\n", "1,2\n1,2\n1\"2,3\n", "a,b\n1,2\n3,4\n5,6\nx,7\n",
        "0,1,label\n1,2,0\n3,4,1\n", "9,2,good,bad\n1,2,3\n", "a,b\n1,\xe4\n", "a,b\n1,nan\n",
        "a,b\n1,1e999\n", "a,b\n1e39,1\n", "a,a\n1,2\n", "a,\xe4\n1,2\n"})
    EXPECT_EQ(complaint(text, false), complaint(text, true)) << text;
}

// The short way through a CSV file and the long way say the same. A quoted first cell sends a row
// the long way, so each content is read twice: with `1,` and with `"1",` in front of its rows.

/// All that a reader says of a file, as text: the table's values or the failure without its column.
std::string told(const std::string& path, const csv_options& options) {
  try {
    const auto rows = read_csv(path, options);
    std::string result =
      std::to_string(rows.row_count) + " x " + std::to_string(rows.feature_count);
    for (const auto value : rows.features)
      result += " " + std::to_string(std::bit_cast<uint32_t>(value));
    for (const auto& cell : rows.target_cells)
      result += " '" + cell + "'";
    for (const auto value : rows.target_numbers)
      result += " " + std::to_string(std::bit_cast<uint64_t>(value));
    return result + " " + rows.first_text_cell + std::to_string(rows.first_text_line);
  } catch (const failure& error) {
    const auto where = error.where();
    return error.reason() + where.substr(0, where.rfind(':'));
  }
}

std::string with_front(const std::vector<std::string>& rows, std::string_view front) {
  std::string result;
  for (const auto& row : rows)
    result += std::string(front) + row;
  return result;
}

const char* read_row(std::string row, const csv_row_shape& shape, std::vector<float>& features,
                     csv_row_target& target) {
  static std::string padded; // the target points into it
  padded = std::move(row) + std::string(16, '7');
  features.assign(shape.column_count - 1, 0.0f);
  return read_plain_row(padded.data(), shape, features.data(), target);
}

TEST(csv_rows, plain_rows_take_the_short_way) {
  std::vector<float> features;
  csv_row_target target;
  ASSERT_TRUE(read_row("1,-2.5, 3e2 ,4\n", {4, 3, 100}, features, target));
  EXPECT_EQ(features, (std::vector<float>{1, -2.5, 300}));
  EXPECT_EQ(target.text, "4");
  EXPECT_TRUE(target.is_number);
  ASSERT_TRUE(read_row("cat,.5,7\r\n", {3, 0, 8}, features, target));
  EXPECT_EQ(features, (std::vector<float>{.5, 7}));
  EXPECT_EQ(target.text, "cat");
  EXPECT_FALSE(target.is_number);
}

TEST(csv_rows, other_rows_are_left) {
  std::vector<float> features;
  csv_row_target target;
  using namespace std::string_literals;
  for (const auto& row :
       {"1,2\n"s, "1,2,3,4\n"s, "1,,3\n"s, "1,x,3\n"s, "1,2,\n"s, "\n"s, "1,\"2\",3\n"s,
        "1,2,a\"b\n"s, "1,2,\xe4\n"s, "1,2,nan\n"s, "1,2\r,3\n"s, "1,2,3\r\r\n"s, "1,2,a\0\n"s,
        "1,nan,3\n"s, "1,1e40,3\n"s, "1,2,3333333333\n"s})
    EXPECT_FALSE(read_row(row, {3, 2, 12}, features, target)) << row;
}

TEST(csv_rows, both_ways_say_the_same) {
  const std::vector<std::string> cells{
    "0",         "16",          "-3",        "2.5",
    "-.75",      "5.",          ".",         "",
    " 1",        "2 ",          " ",         "+4",
    "-0",        "1e3",         "1e-60",     "1e39",
    "nan",       "inf",         "x",         "0.1234567890123456789",
    "123456789", "99999999999", "8388608.5", "1.000000059604644775390625000000001",
    "\xc3\xa9",  "\xe4",        "a b",       "1 2",
    "#",         "1.2.3"};
  std::mt19937 random(3);
  temporary_folder folder;
  size_t read = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<std::string> rows;
    const auto odd_share = 2 + random() % 200;
    for (size_t row = 0; row < 1 + random() % 20; ++row) {
      const auto cell = [&] {
        return cells[random() % odd_share ? random() % 5 : random() % cells.size()];
      };
      rows.push_back(cell() + "," + cell() + "," + cell());
      rows.back() += random() % odd_share ? "" : ",1";
      rows.back() += random() % 3 ? "\n" : "\r\n";
    }
    const csv_options options{
      {.header = csv_header::no, .target = std::to_string(1 + random() % 3)}};
    const auto plain = told(folder.write("rows", with_front(rows, "1,")), options);
    const auto quoted = told(folder.write("rows", with_front(rows, "\"1\",")), options);
    ASSERT_EQ(plain, quoted) << with_front(rows, "1,");
    read += plain.find(" x ") != plain.npos;
  }
  EXPECT_GT(read, 300u);
  EXPECT_LT(read, 2700u);
}

TEST(csv_rows, rows_across_blocks_and_ways_keep_their_order) {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += (i % 1000 ? std::to_string(i) : "\"" + std::to_string(i) + "\"") + ",0.5,a" +
            std::to_string(i) + "\n";
  temporary_folder folder;
  const auto rows = read_csv(folder.write("rows.csv", text));
  ASSERT_EQ(rows.row_count, 100'000u);
  ASSERT_EQ(rows.features.size(), 200'000u);
  for (size_t i = 0; i < rows.row_count; ++i) {
    ASSERT_EQ(rows.features[2 * i], static_cast<float>(i));
    ASSERT_EQ(rows.target_cells[i], "a" + std::to_string(i));
  }
}

} // namespace
} // namespace troupe::csv_reader_test
