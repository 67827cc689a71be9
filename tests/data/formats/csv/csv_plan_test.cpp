// CSV files whose cells are not plain numbers: categories, gaps, dates, and other letters between cells.

#include "data/formats/csv/csv.hpp"
#include "data/formats/csv/csv_columns.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::csv_plan_test {
namespace {

table read_text(const std::string& text, const csv_options& options) {
  const temporary_folder folder;
  return read_csv(folder.write("rows.csv", text), options);
}

/// What is said of a file that is refused, and where.
std::string refusal(const std::string& text, const csv_options& options) {
  const temporary_folder folder;
  const auto path = folder.write("rows.csv", text);
  try {
    read_csv(path, options);
  } catch (const failure& error) {
    return error.where().substr(path.size()) + " " + error.reason() + "; " + error.hint();
  }
  return "was read";
}

void expect_said(const std::string& text, const csv_options& options, const std::string& where,
                 const std::vector<std::string>& parts) {
  const auto said = refusal(text, options);
  EXPECT_TRUE(said.starts_with(where + " ")) << said;
  for (const auto& part : parts)
    EXPECT_NE(said.find(part), said.npos) << said << "\nhas no " << part;
}

csv_options with_city(missing_rule missing = missing_rule::error) {
  csv_options options;
  options.columns.categorical = {"city"};
  options.columns.missing = missing;
  options.columns.missing_cells = {"NA"};
  return options;
}

const std::string people = "city,age,y\nOslo,40,1\nBergen,30,2\nOslo,NA,3\n,20,4\n";
const std::string few_people = "city,age,y\nOslo,40,1\nBergen,30,2\n";

csv_options with_dialect(const csv_dialect& dialect) {
  csv_options options;
  options.dialect = dialect;
  return options;
}

} // namespace

TEST(csv_plan, a_column_of_categories_becomes_a_feature_for_each) {
  const auto rows = read_text(few_people, with_city());
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"city=Bergen", "city=Oslo", "age"}));
  EXPECT_EQ(rows.features, (std::vector<float>{0, 1, 40, 1, 0, 30}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{1, 2}));
  csv_options by_index = with_city();
  by_index.columns.categorical = {"0"};
  EXPECT_EQ(read_text(few_people, by_index).features, rows.features);
}

TEST(csv_plan, what_a_column_cannot_be_is_told) {
  auto options = with_city();
  options.columns.categorical = {"y"};
  expect_said(few_people, options, ":1:1", {"'y'", "no feature"});
  options.columns.categorical = {"city", "0"};
  expect_said(few_people, options, ":1:1", {"named twice"});
  options.columns.categorical = {"town"};
  expect_said(few_people, options, ":1:1", {"no column 'town'"});
  options = with_city();
  options.columns.categories_max = 1;
  expect_said(few_people, options, ":3:1",
              {"'Bergen' in column 0 'city'", "data.categories_max", "data.ignore"});
  expect_said("city,age,city=Oslo,y\nOslo,1,2,3\n", with_city(), ":1:1",
              {"two features", "'city=Oslo'"});
  options.columns = {};
  options.columns.date = {"age"};
  expect_said("city,age,y\n1,2024-13-01,3\n", options, ":2:3", {"no date", "2024-02-29"});
  options.columns.boolean = {"city"};
  expect_said("city,age,y\nOslo,2024-12-01,3\n", options, ":2:1", {"neither true nor false"});
}

TEST(csv_plan, a_cell_without_a_value_is_an_error_that_names_the_key) {
  expect_said(people, with_city(), ":4:6",
              {"'NA' in column 1 'age'", "data.missing", "\"mean\"", "data.ignore"});
  expect_said("age,y\n1,2\n,3\n", {}, ":3:1", {"data.missing = \"mean\""});
  expect_said("city,age,y\nOslo,1,\n", with_city(missing_rule::mean), ":2:8",
              {"data.missing = \"drop\""});
}

TEST(csv_plan, rows_with_gaps_are_dropped_counted_and_teach_no_category) {
  const auto rows =
    read_text("city,age,y\nOslo,40,1\nBergen,30,2\nBodo,NA,3\n,20,4\nOslo,1,\nOslo,5,6\n",
              with_city(missing_rule::drop));
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"city=Bergen", "city=Oslo", "age"}));
  EXPECT_EQ(rows.features, (std::vector<float>{0, 1, 40, 1, 0, 30, 0, 1, 5}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{1, 2, 6}));
  ASSERT_EQ(rows.remarks.size(), 1u);
  EXPECT_NE(rows.remarks[0].find("3 rows without a value"), std::string::npos) << rows.remarks[0];
  EXPECT_NE(rows.remarks[0].find("line 4"), std::string::npos) << rows.remarks[0];
  EXPECT_NE(refusal("city,age,y\n,1,2\n", with_city(missing_rule::drop)).find("none of the 1 rows"),
            std::string::npos);
}

TEST(csv_plan, gaps_become_the_mean_of_training_rows_and_marks_are_not_standardised) {
  auto options = with_city(missing_rule::mean);
  options.columns.missing_indicator = true;
  std::string text = "city,age,y\n";
  for (int i = 0; i < 40; ++i)
    text += std::string(i % 3 ? "Oslo," : "Bergen,") + (i % 4 == 1 ? "NA" : std::to_string(i * i)) +
            "," + std::to_string(i) + "\n";
  for (const size_t chunk_rows : {size_t{0}, size_t{8}}) {
    auto source = to_dataset(read_text(text, options), target_use::numbers);
    EXPECT_EQ(source.feature_names,
              (std::vector<std::string>{"city=Bergen", "city=Oslo", "age", "age is missing"}));
    const auto data = prepare(dataset{source}, {5, 0.3, true, 0.2, chunk_rows});
    double sum = 0, count = 0, all = 0, all_count = 0;
    for (const auto y : data.train.targets)
      if (static_cast<int>(y) % 4 != 1)
        sum += y * y, ++count;
    for (const auto y : source.targets)
      if (static_cast<int>(y) % 4 != 1)
        all += y * y, ++all_count;
    const auto mean = data.train.columns.fill.at(2);
    EXPECT_FLOAT_EQ(mean, static_cast<float>(sum / count));
    EXPECT_NE(mean, static_cast<float>(all / all_count));
    for (const auto* part : {&data.train, &data.test, &data.validation})
      for (size_t i = 0; i < part->row_count; ++i) {
        const auto y = static_cast<int>(part->targets[i]);
        const auto row = part->row(i);
        EXPECT_EQ(row[0], y % 3 ? 0.0f : 1.0f);
        EXPECT_EQ(row[1], y % 3 ? 1.0f : 0.0f);
        EXPECT_EQ(row[3], y % 4 == 1 ? 1.0f : 0.0f);
        const auto raw = y % 4 == 1 ? mean : static_cast<float>(y * y);
        EXPECT_EQ(row[2], (raw - data.features.mean[2]) / data.features.deviation[2]);
      }
  }
}

TEST(csv_plan, other_rows_are_read_by_a_plan_that_is_there) {
  auto options = with_city(missing_rule::mean);
  const auto first = read_text(people, options);
  csv_options known;
  known.plan = first.columns;
  const auto rows = read_text("y,age,city\n1,2,Bergen\n2,NA,Paris\n3,4,NA\n", [&] {
    auto x = known;
    x.target = "y";
    return x;
  }());
  EXPECT_EQ(rows.feature_names, first.feature_names);
  EXPECT_EQ((std::vector<float>{rows.features.begin(), rows.features.begin() + 4}),
            (std::vector<float>{1, 0, 0, 2}));
  EXPECT_EQ(rows.features[4] + rows.features[5] + rows.features[6], 0);
  EXPECT_TRUE(std::isnan(rows.features[7]));
  EXPECT_EQ(rows.features[10], 1);
  EXPECT_EQ(rows.remarks.size(), 1u);
  EXPECT_NE(refusal("y,age\n1,2\n", known).find("no column 'city'"), std::string::npos);
}

TEST(csv_plan, the_content_has_another_name_with_a_plan_and_its_old_one_without) {
  const std::string text = "a,b,y\n1,2,3\n2,2,4\n";
  const auto name_of_content = [&](const csv_options& options) {
    return content_fingerprint(to_dataset(read_text(text, options), target_use::numbers));
  };
  csv_options used;
  used.columns.missing = missing_rule::mean;
  csv_options unused;
  unused.columns.missing_cells = {"NA"};
  EXPECT_EQ(name_of_content({}), name_of_content(unused));
  EXPECT_NE(name_of_content({}), name_of_content(used));
}

TEST(csv_plan, other_letters_between_cells_give_the_same_rows) {
  const auto plain = read_text("a,b,y\n1.5,2,one\n-3,4.25,\"t,wo\"\n", {});
  const auto same = [&](const std::string& text, const csv_dialect& dialect) {
    const auto rows = read_text(text, with_dialect(dialect));
    EXPECT_EQ(rows.features, plain.features) << text;
    EXPECT_EQ(rows.target_cells, plain.target_cells) << text;
    EXPECT_EQ(rows.feature_names, plain.feature_names) << text;
  };
  same("a;b;y\n1.5;2;one\n-3;4.25;t,wo\n", {.separator = ';'});
  same("a\tb\ty\n1.5\t 2\tone\n-3\t4.25\t\"t,wo\"\n", {.separator = '\t'});
  same("a|b|y\n1.5|2|'one'\n-3|4.25|'t,wo'\n", {.separator = '|', .quote = '\''});
  same("a;b;y\n1,5;2;one\n-3;4,25;t,wo\n", {.separator = ';', .decimal = ','});
  same("# a\n# note, with\na,b,y\n#1,2,3\n1.5,2,one\n# \"\n-3,4.25,\"t,wo\"\n#\n",
       {.comment = '#'});
  same("a table\n\"\n,\na,b,y\n1.5,2,one\n-3,4.25,\"t,wo\"", {.skip_lines = 3});
  EXPECT_NE(
    refusal("a;b\n1.5;2\n", with_dialect({.separator = ';', .decimal = ','})).find("decimal mark"),
    std::string::npos);
  expect_said("#\na,y\n1,2\n#\nx,3\n", with_dialect({.comment = '#'}), ":5:1", {"'x'"});
  EXPECT_NE(refusal("x\n", with_dialect({.skip_lines = 5})).find("is empty"), std::string::npos);
  expect_said("a;b\n1;2\n", {}, ":1:1", {"data.separator = \";\""});
  const auto gaps = read_text("a\tb\ty\n\t\t1\n2\t3\t4\n", [] {
    auto x = with_dialect({.separator = '\t'});
    x.columns.missing = missing_rule::mean;
    return x;
  }());
  EXPECT_TRUE(std::isnan(gaps.features[0]) && std::isnan(gaps.features[1]));
}

TEST(csv_plan, a_dialect_as_text_is_itself_and_a_usual_one_needs_none) {
  EXPECT_EQ(text_of(csv_dialect{}), "");
  const csv_dialect odd{'\t', '\'', ',', '#', 3};
  EXPECT_EQ(dialect_of(text_of(odd)), odd);
  for (const auto* bad : {"", "[]", R"({"separator": ""})", R"({"separator": ",,"})",
                          R"({"separator": "1"})", R"({"quote": ","})", R"({"decimal": ";"})",
                          R"({"skip_lines": -1})", R"({"comment": 3})", R"({"separator": "\n"})"})
    EXPECT_FALSE(dialect_of(bad)) << bad;
}

TEST(csv_plan, how_cells_are_written_is_seen_in_the_first_lines) {
  const auto seen = [](const std::string& text) {
    const temporary_folder folder;
    return dialect_by_content(folder.write("rows.csv", text));
  };
  EXPECT_EQ(seen("a,b\n1,2\n"), csv_dialect{});
  EXPECT_EQ(seen("a;b\n1.5;2\n"), (csv_dialect{.separator = ';'}));
  EXPECT_EQ(seen("a;b\n1,5;2\n1;2\n"), (csv_dialect{.separator = ';', .decimal = ','}));
  EXPECT_EQ(seen("a\tb\n\"1,5\"\t2\n"), (csv_dialect{.separator = '\t', .decimal = ','}));
  EXPECT_EQ(seen("a\n1\n"), csv_dialect{});
}

} // namespace troupe::csv_plan_test
