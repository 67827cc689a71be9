// The short way through a CSV file and the long way say the same. A quoted first cell sends a row
// the long way, so each content is read twice: with `1,` and with `"1",` in front of its rows.

#include "data/formats/csv/csv.hpp"
#include "data/formats/csv/csv_rows.hpp"
#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::csv_rows_test {

namespace {

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

} // namespace

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
    csv_options options;
    options.header = csv_header::no;
    options.target = std::to_string(1 + random() % 3);
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

} // namespace troupe::csv_rows_test
