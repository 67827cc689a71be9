// What the CSV reader takes, and what it says about everything else.

#include "data/formats/csv/csv.hpp"

#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <locale>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::csv_test {
namespace {

using namespace std::string_literals;

table read_text(const std::string& content, const csv_options& options = {}) {
  temporary_folder folder;
  return read_csv(folder.write("rows.csv", content), options);
}

/// What is expected of a file that cannot be read.
struct bad_file {
  std::string_view name;
  std::string content;
  std::string_view where; ///< behind the path
  std::vector<std::string> said;
  csv_options options = {};
};

void expect_refused(const bad_file& file) {
  SCOPED_TRACE(file.name);
  temporary_folder folder;
  auto path = folder.write("rows.csv", file.content);
  const auto error = test::failure_of([&] { read_csv(path, file.options); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_EQ(error.where(), path + std::string(file.where));
  EXPECT_FALSE(error.hint().empty());
  for (const auto& part : file.said)
    EXPECT_TRUE(test::contains(error.what(), part));
}

std::string utf16(std::string_view text, bool mark, bool big_endian) {
  std::string result = mark ? (big_endian ? "\xfe\xff"s : "\xff\xfe"s) : ""s;
  for (auto letter : text) {
    result += big_endian ? '\0' : letter;
    result += big_endian ? letter : '\0';
  }
  return result;
}

TEST(csv, columns_and_target_are_told_apart) {
  auto rows = read_text("height,width,kind\n1,-2.5,cat\n+3e2,.5,dog\n");
  EXPECT_EQ(rows.row_count, 2u);
  EXPECT_EQ(rows.feature_count, 2u);
  EXPECT_EQ(rows.features, (std::vector<float>{1, -2.5, 300, .5}));
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"height", "width"}));
  EXPECT_EQ(rows.target_name, "kind");
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_TRUE(rows.target_numbers.empty());
  EXPECT_EQ(rows.first_text_line, 2u);
  EXPECT_EQ(rows.first_text_cell, "cat");
  EXPECT_TRUE(rows.source.ends_with("/rows.csv"));
}

TEST(csv, numeric_targets_are_kept_as_text_and_as_doubles) {
  auto rows = read_text("1,0.1\n2,7\n");
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{0.1, 7}));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"0.1", "7"}));
  EXPECT_EQ(rows.first_text_line, 0u);
}

TEST(csv, one_text_among_numeric_targets_makes_them_text) {
  auto rows = read_text("1,5\n2,x\n3,6\n");
  EXPECT_TRUE(rows.target_numbers.empty());
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"5", "x", "6"}));
  EXPECT_EQ(rows.first_text_line, 2u);
  EXPECT_EQ(rows.first_text_cell, "x");
}

TEST(csv, without_a_header_columns_are_called_by_their_index_in_the_file) {
  auto rows = read_text("1,2,3\n4,5,6\n", {{.target = "1"}});
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"0", "2"}));
  EXPECT_EQ(rows.target_name, "1");
  EXPECT_EQ(rows.features, (std::vector<float>{1, 3, 4, 6}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{2, 5}));
}

TEST(csv, a_row_of_names_is_a_header_and_a_row_with_a_number_is_not) {
  EXPECT_EQ(read_text("a,b\n1,2\n").row_count, 1u);
  EXPECT_EQ(read_text("1,b\n1,c\n").row_count, 2u);
  EXPECT_EQ(read_text("1,2\n1,2\n").row_count, 2u);
  EXPECT_EQ(read_text(",b\n1,2\n").feature_names, std::vector<std::string>{"0"});
}

TEST(csv, a_header_can_be_demanded_and_denied) {
  auto rows = read_text("7,8\n1,2\n", {{.header = csv_header::yes}});
  EXPECT_EQ(rows.feature_names, std::vector<std::string>{"7"});
  EXPECT_EQ(rows.target_name, "8");
  EXPECT_EQ(rows.row_count, 1u);
  EXPECT_EQ(read_text("7,a\n1,b\n", {{.header = csv_header::no}}).row_count, 2u);
}

TEST(csv, a_header_with_numbers_among_its_names_is_no_row) {
  const auto text = "0,1,label\n1,2,0\n3,4,1\n"s;
  const std::vector<std::string> said{"'label' in column 2", "looks like a header",
                                      "data.header = true"};
  expect_refused({"pandas", text, ":1", said});
  expect_refused(
    {"odd rows", "0,label, 1\n\"1\",2,0\n3,4,1\n", ":1", {"'label'"}, {{.target = "1"}}});
  EXPECT_EQ(read_text(text, {{.header = csv_header::yes}}).target_name, "label");
  EXPECT_EQ(read_text(text, {{.header = csv_header::no}}).row_count, 3u);
  EXPECT_EQ(read_text("0,1,a\n1,2,0\n3,4,b\n").row_count, 3u) << "others have text too";
  EXPECT_EQ(read_text("1,2,0\n0,1,a\n").row_count, 2u) << "not in row 1";
  EXPECT_EQ(read_text("0,1,a\n").row_count, 1u);
}

TEST(csv, targets_are_found_by_name_before_index) {
  auto text = "x,0,y\n1,2,3\n"s;
  const auto target_called = [](const char* target) {
    return read_text("x,0,y\n1,2,3\n", {{.header = csv_header::yes, .target = target}})
      .target_numbers;
  };
  EXPECT_EQ(target_called("0"), std::vector<double>{2}) << "the name of column 1";
  EXPECT_EQ(target_called("2"), std::vector<double>{3});
  EXPECT_EQ(target_called("x"), std::vector<double>{1});
}

TEST(csv, last_is_the_last_column_even_if_another_has_that_name) {
  EXPECT_EQ(read_text("last,b\n1,2\n").target_numbers, std::vector<double>{2});
}

TEST(csv, line_ends_and_byte_order_mark_do_not_change_the_rows) {
  auto plain = read_text("a,b\n1,2\n3,4\n");
  for (const auto* text : {"a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r",
                           "\xef\xbb\xbf"
                           "a,b\n1,2\n3,4\n",
                           "a,b\n1,2\n3,4\n\n \t\n\r\n", " a ,\tb\n 1 , 2\t\n3,4 \n"}) {
    SCOPED_TRACE(text);
    auto rows = read_text(text);
    EXPECT_EQ(rows.feature_names, plain.feature_names);
    EXPECT_EQ(rows.target_name, plain.target_name);
    EXPECT_EQ(rows.features, plain.features);
    EXPECT_EQ(rows.target_cells, plain.target_cells);
  }
}

TEST(csv, quoted_cells_may_hold_commas_quotes_and_line_breaks) {
  auto rows = read_text("\"a,1\",b\n\"1.5\" , \"say \"\"hi\"\",\r\nBob \"\r\n2,\"\"\"\"\n");
  EXPECT_EQ(rows.feature_names, std::vector<std::string>{"a,1"});
  EXPECT_EQ(rows.features, (std::vector<float>{1.5, 2}));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"say \"hi\",\r\nBob ", "\""}));
}

TEST(csv, doubled_quotes_of_one_cell_do_not_leak_into_the_next) {
  auto rows = read_text("\"a\"\"1\",\"b\"\"2\",c\n1,2,3\n");
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"a\"1", "b\"2"}));
}

TEST(csv, numbers_too_small_for_a_float_become_zero) {
  EXPECT_EQ(read_text("1e-60,1\n-1e-60,1\n").features, (std::vector<float>{0, 0}));
}

TEST(csv, floats_are_the_nearest_to_the_text) {
  // Just above the middle between 1 and the next float, 1 + 2^-23: by way of a double, which cannot
  // hold the last digit, it would be rounded down.
  EXPECT_EQ(read_text("1.000000059604644775390625000000001,1\n").features[0], 0x1.000002p0f);
  EXPECT_EQ(read_text("16777217,1\n").features[0], 16777216.0f);
  EXPECT_EQ(read_text("9999999,1\n").features[0], 9999999.0f);
}

TEST(csv, a_locale_with_decimal_commas_changes_nothing) {
  struct comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  auto before = std::locale::global(std::locale(std::locale::classic(), new comma));
  std::string before_c = std::setlocale(LC_NUMERIC, nullptr);
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8"); // where there is none, the C++ locale still tests
  auto rows = read_text("1.5,2.25\n");
  std::locale::global(before);
  std::setlocale(LC_NUMERIC, before_c.c_str());
  EXPECT_EQ(rows.features, std::vector<float>{1.5});
  EXPECT_EQ(rows.target_numbers, std::vector<double>{2.25});
}

TEST(csv, records_longer_than_the_first_buffer_are_read) {
  std::string text;
  for (int i = 0; i < 300'000; ++i)
    text += "7,";
  text += "1\n";
  auto rows = read_text(text + text);
  EXPECT_EQ(rows.feature_count, 300'000u);
  EXPECT_EQ(rows.row_count, 2u);
  EXPECT_EQ(rows.features, std::vector<float>(600'000, 7.0f));
}

TEST(csv, rows_across_many_buffers_keep_their_order) {
  std::string text;
  for (int i = 0; i < 200'000; ++i)
    text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  auto rows = read_text(text);
  ASSERT_EQ(rows.row_count, 200'000u);
  for (size_t i = 0; i < rows.row_count; ++i)
    ASSERT_EQ(rows.features[i], static_cast<float>(i));
}

TEST(csv, bad_files_are_refused_where_the_fault_stands) {
  const std::string huge = "99999999999999999999", long_cell(60, 'x');
  const bad_file files[] = {
    {"fewer cells", "a,b,c\n1,2,3\n1,2\n", ":3:4", {"2 cells", "before column 2 'c'", "3"}},
    {"more cells", "a,b\n1,2\n1,2, 30\n", ":3:6", {"'30' is too many", "with its 2"}},
    {"trailing comma", "1,2\n1,2,\n", ":2:5", {"'' is too many"}},
    {"a first row of counts",
     "569,3,malignant,benign\n1,2,3,0\n4,5,6,1\n",
     ":1:7",
     {"'malignant'", "to count rows", "tail -n +2"}},
    {"counts as a header",
     "569,4,malignant,benign\n1,2,3,4,0\n",
     ":2:9",
     {"too many", "to count rows"},
     {{.header = csv_header::yes}}},
    {"missing feature", "a,b,c\n1,,x\n", ":2:3", {"column 1 'b'", "missing", "fill"}},
    {"missing first cell", "a,b\n ,2\n", ":2:2", {"column 0 'a'", "missing"}},
    {"missing target", "1,2\n1,\n", ":2:3", {"column 1", "missing"}},
    {"missing target in quotes", "1,2\n1,\"\"\n", ":2:3", {"missing"}},
    {"all of row 1 missing", ",\n1,2\n", ":1:1", {"missing"}},
    {"text", "a,b\n1,2\n 1, 2\nred,2\n", ":4:1", {"'red'", "column 0 'a'", "not a number"}},
    {"header not seen", "a,7\n1,2\n", ":1:1", {"'a'", "data.header = true"}},
    {"text in a later row", "1,2\nx,2\n", ":2:1", {"'x'", "data.ignore = [\"0\"]"}},
    {"hexadecimal", "1,2\n0x10,2\n", ":2:1", {"'0x10'", "column 0"}},
    {"decimal comma", "1,2\n\"1,5\",2\n", ":2:1", {"'1,5'"}},
    {"two signs", "1,2\n+-1,2\n", ":2:1", {"'+-1'"}},
    {"text after a number", "1,2\n1 m,2\n", ":2:1", {"'1 m'"}},
    {"characters counted", "a,b,c\n1,\xc3\xa9,\xc3\xa9x\n", ":2:3", {"'\xc3\xa9'"}},
    {"after wide ones", "b,c,d\n\"\xc3\xa9\",x,2\n", ":2:5", {"'x'"}, {{.target = "b"}}},
    {"after a line break", "1,\"a\nb\"\nx,c\n", ":3:1", {"'x'"}, {{.header = csv_header::no}}},
    {"behind line breaks", "\"a\nb\",c\n1,2\n1,\"y\n\n\",3\n", ":6:3", {"'3' is too many"}},
    {"nan", "1,2\nnan,2\n", ":2:1", {"'nan'", "not a finite number"}},
    {"infinite", "1,2\n-Infinity,2\n", ":2:1", {"'-Infinity'", "not a finite"}},
    {"1e400", "1,2\n1e400,2\n", ":2:1", {"'1e400'", "does not fit"}},
    {"double only", "1,2\n-1e39,2\n", ":2:1", {"'-1e39'", "does not fit"}},
    {"target nan", "1,2\n1, NaN\n", ":2:4", {"'NaN' in column 1"}},
    {"target 1e400", "1,2\n1,1e400\n", ":2:3", {"'1e400' in column 1"}},
    {"quote never closed", "1,2\n1, \"abc\n3,4\n", ":2:4", {"never closed"}},
    {"quote at the end", "1,2\n1,\"", ":2:3", {"never closed"}},
    {"doubled quote at the end", "1,2\n1,\"a\"\"\n", ":2:3", {"never closed"}},
    {"quote inside", "1,2\n1,5\" disk\n3,4\n", ":2:4", {"'5\" disk'", "inside"}},
    {"text behind a quote", "1,2\n1,\"a\" b\n", ":2:7", {"after the closing"}},
    {"runaway quote",
     "1,2\n1,\"" + std::string(500'000, '\n'),
     ":2:3",
     {"never closed"},
     {{}, {}, {}, {}, 100}},
    {"nul", "1,2\n1,\0002\n"s, ":2:3", {"NUL"}},
    {"latin-1 name", "a,b\xe4\n1,2\n", ":1:3", {"'b\\xe4'", "not UTF-8"}},
    {"latin-1 label", "a,b\n1,\xe4\n", ":2:3", {"'\\xe4'", "not UTF-8"}},
    {"latin-1 feature", "a,b\n\xe4,1\n", ":2:1", {"'\\xe4'", "not a number"}},
    {"carriage returns", "1,2\r3,4\r5,6\n", ":1:4", {"carriage return"}},
    {"empty", "", ":1:1", {"empty"}},
    {"mark only", "\xef\xbb\xbf", ":1:1", {"empty"}},
    {"blank", "\n \n", ":1:1", {"empty"}},
    {"header only", "a,b\n\n", ":1:1", {"header but no rows"}},
    {"empty line in the middle", "1,2\n\n  \n3,4\n", ":2:1", {"line is empty"}},
    {"empty line at the start", "\n1,2\n", ":1:1", {"line is empty"}},
    {"one column", "a\n1\n", ":1:1", {"one column", "commas"}},
    {"one column, semicolons", "1;2\n", ":1:1", {"one column", "semicolons"}},
    {"one column, tabs", "1\t2\n", ":1:1", {"one column", "tabs"}},
    {"one name twice", "a,b, a\n1,2,3\n", ":1:6", {"columns 0 and 2", "'a'"}},
    {"index as a name",
     "1,,c\n1,2,3\n",
     ":1:3",
     {"columns 0 and 1"},
     {{.header = csv_header::yes}}},
    {"target close", "width,a\n1,2\n", ":1:1", {"'widht'", "mean 'width'"}, {{.target = "widht"}}},
    {"target far", "a,b\n1,2\n", ":1:1", {"'z'", "the columns are 'a', 'b'"}, {{.target = "z"}}},
    {"target, no header", "1,2\n", ":1:1", {"'a'", "has no header"}, {{.target = "a"}}},
    {"target index", "1,2\n", ":1:1", {"no column '2'", "2 columns"}, {{.target = "2"}}},
    {"huge target", "1,2\n", ":1:1", {"no column '" + huge + "'"}, {{.target = huge}}},
    {"no target", "1,2\n", ":1:1", {"''"}, {{.target = ""}}},
    {"long line", "1,2\n1,2345\n", ":2:1", {"longer than 5 bytes"}, {{}, {}, {}, {}, 5}},
    {"endless", std::string(1'000'000, '1'), ":1:1", {"than 5 bytes"}, {{}, {}, {}, {}, 5}},
    {"wide", "1,,,\n", ":1:5", {"more than 3 columns"}, {{}, {}, {}, {}, 5, 3}},
    {"long cell", "1,2\n" + long_cell + ",2\n", ":2:1", {"'" + std::string(40, 'x') + "...'"}},
    {"control letters", "1,2\n\x1b[31m,2\n", ":2:1", {"'\\x1b[31m'"}},
  };
  for (const auto& file : files)
    expect_refused(file);
  for (bool mark : {false, true})
    for (bool big_endian : {false, true})
      expect_refused(
        {"utf-16", utf16("1,2\n", mark, big_endian), ":1:1", {"looks like UTF-16", "UTF-8"}});
  EXPECT_EQ(read_text("1,2\n1,\"nan\"\n").target_cells[1], "nan");
}

TEST(csv, columns_that_are_ignored_may_hold_anything) {
  const auto ignoring = [](std::vector<std::string> columns, std::string target = "last") {
    return csv_options{{.target = std::move(target), .ignore = std::move(columns)}};
  };
  auto rows = read_text("id,height,name,kind\nx,1,\"a,b\",3\n,2,,4\n", ignoring({"id", "2"}));
  EXPECT_EQ(rows.feature_names, std::vector<std::string>{"height"});
  EXPECT_EQ(rows.features, (std::vector<float>{1, 2}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{3, 4}));
  rows = read_text("1,2,3\n4,5,6\n", ignoring({"last"}, "0"));
  EXPECT_EQ(rows.feature_names, std::vector<std::string>{"1"});
  EXPECT_EQ(rows.features, (std::vector<float>{2, 5}));
  expect_refused(
    {"target", "a,b,c\n1,2,3\n", ":1:1", {"'c'", "the target too"}, ignoring({"a", "c"})});
  expect_refused({"all", "a,b,c\n1,2,3\n", ":1:1", {"no feature"}, ignoring({"a", "b"})});
  expect_refused({"none", "a,b,c\n1,2,3\n", ":1:1", {"no column 'd'"}, ignoring({"d"})});
  expect_refused({"short", "a,b,c\n1,2,3\n4,5\n", ":3:4", {"2 cells"}, ignoring({"b"})});
}

TEST(csv, rows_of_the_greatest_size_are_read) {
  EXPECT_EQ(read_text("1,2,3\n4,5,6\n", {{}, {}, {}, {}, 5, 3}).row_count, 2u);
}

TEST(csv, reading_stops_where_a_record_is_too_long) {
  // Whoever read on would meet the damage at the end.
  const csv_options small{{}, {}, {}, {}, 100};
  auto damaged = [](const std::string& text) { return gzip_text(text) + "damage"; };
  std::string much(2'000'000, '\n');
  expect_refused({"quote", damaged("1,2\n1,\"" + much), ":2:3", {"never closed"}, small});
  std::fill(much.begin(), much.end(), '1');
  expect_refused({"line", damaged("1,2\n" + much), ":2:1", {"longer than 100"}, small});
}

// What may not be as people mean it is asked about, or told: names of two columns, rows and headers that look like each
// other, numbers that are one as float32.

TEST(csv_doubts, names_that_mean_two_columns_are_told) {
  const auto remarks_of = [](const std::string& content, const csv_options& options) {
    return read_text(content, options).remarks;
  };
  auto said = remarks_of("3,b,c,d\n1,2,3,4\n", {{.header = csv_header::yes, .target = "3"}});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].ends_with("the column '3' is taken to be the one of index 0, called '3', and "
                                "not that of index 3"))
    << said[0];
  said =
    remarks_of("0,2,3,7\n1,2,3,4\n", {{.header = csv_header::yes, .target = "7", .ignore = {"1"}}});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(
    said[0].ends_with("'1' is taken to be the one of index 1, called '2': none is called 1"));
  said = remarks_of("last,b\n1,2\n", {});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].ends_with("called 'b', and not that of index 0")) << said[0];
  EXPECT_TRUE(remarks_of("0,1,2\n1,2,3\n", {{.target = "1"}}).empty());
  EXPECT_TRUE(remarks_of("a,last\n1,2\n", {{.target = "0"}}).empty());
}

TEST(csv_doubts, a_header_above_rows_of_texts_that_has_their_cells_is_asked_about) {
  const auto rows = "red,s\nblue,m\nblue,s\nred,m\n"s;
  auto texts = csv_options{};
  texts.categorical = {"0"};
  expect_refused({"texts", rows, ":1:1", {"row 1 looks like a header"}, texts});
  texts.header = csv_header::no;
  EXPECT_EQ(read_text(rows, texts).row_count, 4u);
  texts.header = csv_header::yes;
  EXPECT_EQ(read_text(rows, texts).row_count, 3u);
  expect_refused({"header twice",
                  "colour,size\nred,s\ncolour,size\nblue,m\n",
                  ":3:1",
                  {"the row is the header once more", "remove the line"},
                  texts});
  expect_refused({"column called nan", "nan,y\n1,2\n", ":1:1", {"'nan'", "if row 1 is a header"}});
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
  EXPECT_TRUE(
    test::contains(said[0], "'when' loses digits: 40 different numbers are 1 as float32"));
  EXPECT_EQ(remarks_of(100'000, 0.001).size(), 1u) << "decimals far from 0";
  EXPECT_TRUE(remarks_of(16'000'000, 1).empty()) << "below 2^24 whole numbers are exact";
  EXPECT_TRUE(remarks_of(1e9, 1e6).empty());
}

} // namespace
} // namespace troupe::csv_test
