// What may not be as people mean it is asked about, or told: names of two columns, rows and headers that look like each
// other, numbers that are one as float32.

#include "data/formats/csv/csv.hpp"

#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::csv_doubts_test {

namespace {

using namespace std::string_literals;

table read_text(const std::string& content, const csv_options& options = {}) {
  temporary_folder folder;
  return read_csv(folder.write("rows.csv", content), options);
}

csv_options with_target(std::string target) {
  csv_options result;
  result.target = std::move(target);
  return result;
}

/// "PLACE reason hint", the place behind the path.
std::string refusal_of(const std::string& content, const csv_options& options) {
  temporary_folder folder;
  const auto path = folder.write("rows.csv", content);
  try {
    read_csv(path, options);
  } catch (const failure& error) {
    return error.where().substr(path.size()) + " " + error.reason() + " " + error.hint();
  }
  return "was read";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(csv_doubts, names_that_mean_two_columns_are_told) {
  const auto remarks_of = [](const std::string& content, const csv_options& options) {
    return read_text(content, options).remarks;
  };
  auto options = with_target("3");
  options.header = csv_header::yes;
  auto said = remarks_of("3,b,c,d\n1,2,3,4\n", options);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].ends_with("the column '3' is taken to be the one of index 0, called '3', and "
                                "not that of index 3"))
    << said[0];
  options = with_target("7");
  options.header = csv_header::yes;
  options.ignore = {"1"};
  said = remarks_of("0,2,3,7\n1,2,3,4\n", options);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(
    said[0].ends_with("'1' is taken to be the one of index 1, called '2': none is called 1"));
  said = remarks_of("last,b\n1,2\n", {});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].ends_with("called 'b', and not that of index 0")) << said[0];
  EXPECT_TRUE(remarks_of("0,1,2\n1,2,3\n", with_target("1")).empty());
  EXPECT_TRUE(remarks_of("a,last\n1,2\n", with_target("0")).empty());
}

TEST(csv_doubts, a_header_above_rows_of_texts_that_has_their_cells_is_asked_about) {
  const auto rows = "red,s\nblue,m\nblue,s\nred,m\n"s;
  auto texts = csv_options{};
  texts.columns.categorical = {"0"};
  EXPECT_TRUE(contains(refusal_of(rows, texts), ":1:1 row 1 looks like a header"))
    << refusal_of(rows, texts);
  texts.header = csv_header::no;
  EXPECT_EQ(read_text(rows, texts).row_count, 4u);
  texts.header = csv_header::yes;
  EXPECT_EQ(read_text(rows, texts).row_count, 3u);
  const auto again = refusal_of("colour,size\nred,s\ncolour,size\nblue,m\n", texts);
  EXPECT_TRUE(contains(again, ":3:1 the row is the header once more remove the line")) << again;
}

TEST(csv_doubts, a_column_called_nan_may_stand_in_a_header) {
  const auto said = refusal_of("nan,y\n1,2\n", {});
  EXPECT_TRUE(contains(said, "'nan'") && contains(said, "if row 1 is a header")) << said;
}

TEST(csv_doubts, columns_that_lose_digits_as_float32_are_named) {
  const auto remarks_of = [](double first, double step) {
    std::string rows = "x,when,y\n";
    for (int i = 0; i < 40; ++i)
      rows += "0." + std::to_string(123456789 + i * 12345678) + ',' +
              std::to_string(first + i * step) + ",1\n";
    return read_text(rows).remarks;
  };
  const auto said = remarks_of(1.7e12, 100);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(contains(said[0], "'when' loses digits: 40 different numbers are 1 as float32"))
    << said[0];
  EXPECT_EQ(remarks_of(100'000, 0.001).size(), 1u) << "decimals far from 0";
  EXPECT_TRUE(remarks_of(16'000'000, 1).empty()) << "below 2^24 whole numbers are exact";
  EXPECT_TRUE(remarks_of(1e9, 1e6).empty());
}

} // namespace troupe::csv_doubts_test
