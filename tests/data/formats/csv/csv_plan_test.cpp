// CSV files whose cells are not plain numbers: categories, gaps, dates, and other letters between cells.

#include "data/formats/csv/csv.hpp"
#include "data/formats/csv/csv_columns.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <tuple>

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
  const auto error = test::failure_of([&] { read_csv(path, options); });
  return error.where().substr(path.size()) + " " + error.reason() + "; " + error.hint();
}

void expect_said(const std::string& text, const csv_options& options, const std::string& where,
                 const std::vector<std::string>& parts) {
  const auto said = refusal(text, options);
  EXPECT_TRUE(said.starts_with(where + " ")) << said;
  for (const auto& part : parts)
    EXPECT_TRUE(test::contains(said, part));
}

csv_options with_city(missing_rule missing = missing_rule::error) {
  return {{.categorical = {"city"}, .missing = missing, .missing_cells = {"NA"}}};
}

const std::string people = "city,age,y\nOslo,40,1\nBergen,30,2\nOslo,NA,3\n,20,4\n";
const std::string few_people = "city,age,y\nOslo,40,1\nBergen,30,2\n";

TEST(csv_plan, a_column_of_categories_becomes_a_feature_for_each) {
  const auto rows = read_text(few_people, with_city());
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"city=Bergen", "city=Oslo", "age"}));
  EXPECT_EQ(rows.features, (std::vector<float>{0, 1, 40, 1, 0, 30}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{1, 2}));
  csv_options by_index = with_city();
  by_index.categorical = {"0"};
  EXPECT_EQ(read_text(few_people, by_index).features, rows.features);
}

TEST(csv_plan, what_a_column_cannot_be_is_told) {
  auto options = with_city();
  options.categorical = {"y"};
  expect_said(few_people, options, ":1:1", {"'y'", "no feature"});
  options.categorical = {"city", "0"};
  expect_said(few_people, options, ":1:1", {"named twice"});
  options.categorical = {"town"};
  expect_said(few_people, options, ":1:1", {"no column 'town'"});
  options = with_city();
  options.categories_max = 1;
  expect_said(few_people, options, ":3:1",
              {"'Bergen' in column 0 'city'", "data.categories_max", "data.ignore"});
  expect_said("city,age,city=Oslo,y\nOslo,1,2,3\n", with_city(), ":1:1",
              {"two features", "'city=Oslo'"});
  options = {};
  options.date = {"age"};
  expect_said("city,age,y\n1,2024-13-01,3\n", options, ":2:3", {"no date", "2024-02-29"});
  options.boolean = {"city"};
  expect_said("city,age,y\nOslo,2024-12-01,3\n", options, ":2:1", {"neither true nor false"});
}

TEST(csv_plan, amounts_are_read_by_the_decimal_mark_in_features_and_the_target) {
  csv_options options;
  options.amount = {"cost", "price"};
  const auto plain =
    read_text("cost,rate,price\n\"$1,234.5\",2.5,\"1,000\"\n$-3,1,\"2,000.5\"\n", options);
  EXPECT_EQ(plain.features, (std::vector<float>{1234.5, 2.5, -3, 1}));
  EXPECT_EQ(plain.target_numbers, (std::vector<double>{1000, 2000.5}));
  EXPECT_EQ(plain.feature_names, (std::vector<std::string>{"cost", "rate"}));
  EXPECT_EQ(plain.columns.columns[0].unit, "$");
  ASSERT_TRUE(plain.columns.target);
  EXPECT_EQ(plain.columns.target->name, "price");
  auto german = options;
  german.dialect = {.separator = ';', .decimal = ','};
  const auto same = read_text("cost;rate;price\n$1.234,5;2,5;1.000\n$-3;1;2.000,5\n", german);
  EXPECT_EQ(same.features, plain.features);
  EXPECT_EQ(same.target_numbers, plain.target_numbers);
  EXPECT_EQ(text_of(same.columns), text_of(plain.columns)) << "the model is one";
  expect_said("cost;rate;price\n1;1.234;2\n", german, ":2:3", {"decimal mark is a comma"});
  csv_options by_plan;
  by_plan.target = "price";
  by_plan.plan = plain.columns;
  EXPECT_EQ(read_text("price,cost,rate\n\"3,000\",\"4,000\",1\n", by_plan).target_numbers[0], 3000);
  expect_said("price,cost,rate\n3,EUR 4,1\n", by_plan, ":2:3", {"'EUR 4'", "another unit"});
  options.missing = missing_rule::drop;
  EXPECT_EQ(read_text("cost,price\n1,$2\n2,\n3,$4\n", options).target_numbers,
            (std::vector<double>{2, 4}));
}

TEST(csv_plan, dates_and_amounts_that_cannot_be_read_name_the_key) {
  csv_options options;
  options.date = {"d"};
  for (const auto* cell : {"29/09/2021", "3/4/21", "soon"})
    expect_said("d,y\n" + std::string{cell} + ",1\n", options, ":2:1",
                {"no date", "data.date_order = \"day-first\"", "four digits"});
  options.date_order = date_form::month_first;
  expect_said("d,y\n3/4/2021,1\n29/09/2021,1\n", options, ":3:1", {"no date"});
  options = {};
  options.datetime = {"d"};
  expect_said("d,y\n2021-09-29 25:00,1\n", options, ":2:1", {"no date with a time", "13:05"});
  options = {};
  options.amount = {"d", "y"};
  expect_said("d,y\nmuch,1\n", options, ":2:1", {"'much'", "is no amount", "data.decimal"});
  expect_said("d,y\n$1,$1\n2,€2\n", options, ":3:3", {"'€2' in column 1 'y' has another unit"});
  expect_said("d,y\n1,much\n", options, ":2:3", {"is no amount"});
  expect_said("d,y\n1,\n", options, ":2:3", {"its value is missing"});
  expect_said("d,y\n12%,1\n", {}, ":2:1", {"data.amount = [\"d\"]"});
  expect_said("d,y\n29.09.2021,1\n", {}, ":2:1", {"data.date = [\"d\"]", "data.date_order"});
  expect_said("d,y\n2021-09-29,1\n", {}, ":2:1", {"data.date = [\"d\"]", "data.datetime"});
  expect_said("d,y\n1,2\n-,1\n", {}, ":3:1",
              {"data.missing = \"mean\" and data.missing_cells = [\"-\"]"});
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
  EXPECT_TRUE(test::contains(rows.remarks[0], "3 rows without a value"));
  EXPECT_TRUE(test::contains(rows.remarks[0], "line 4"));
  EXPECT_TRUE(test::contains(refusal("city,age,y\n,1,2\n", with_city(missing_rule::drop)),
                             "none of the 1 rows"));
}

TEST(csv_plan, gaps_become_the_mean_of_training_rows_and_marks_are_not_standardised) {
  auto options = with_city(missing_rule::mean);
  options.missing_indicator = true;
  std::string text = "city,age,y\n";
  for (int i = 0; i < 40; ++i)
    text += std::string(i % 3 ? "Oslo," : "Bergen,") + (i % 4 == 1 ? "NA" : std::to_string(i * i)) +
            "," + std::to_string(i) + "\n";
  for (const size_t chunk_rows : {size_t{0}, size_t{8}}) {
    auto source = to_dataset(read_text(text, options), target_use::numbers);
    EXPECT_EQ(source.feature_names,
              (std::vector<std::string>{"city=Bergen", "city=Oslo", "age", "age is missing"}));
    const auto data = prepare(dataset{source}, {5, {0.3, 0.2}, true, chunk_rows});
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
  const auto rows =
    read_text("y,age,city\n1,2,Bergen\n2,NA,Paris\n3,4,NA\n", {{.target = "y"}, {}, first.columns});
  EXPECT_EQ(rows.feature_names, first.feature_names);
  EXPECT_EQ((std::vector<float>{rows.features.begin(), rows.features.begin() + 4}),
            (std::vector<float>{1, 0, 0, 2}));
  EXPECT_EQ(rows.features[4] + rows.features[5] + rows.features[6], 0);
  EXPECT_TRUE(std::isnan(rows.features[7]));
  EXPECT_EQ(rows.features[10], 1);
  EXPECT_EQ(rows.remarks.size(), 1u);
  EXPECT_TRUE(test::contains(refusal("y,age\n1,2\n", known), "no column 'city'"));
}

TEST(csv_plan, the_content_has_another_name_with_a_plan_and_its_old_one_without) {
  const std::string text = "a,b,y\n1,2,3\n2,2,4\n";
  const auto name_of_content = [&](const csv_options& options) {
    return content_fingerprint(to_dataset(read_text(text, options), target_use::numbers));
  };
  EXPECT_EQ(name_of_content({}), name_of_content({{.missing_cells = {"NA"}}}));
  EXPECT_NE(name_of_content({}), name_of_content({{.missing = missing_rule::mean}}));
}

TEST(csv_plan, other_letters_between_cells_give_the_same_rows) {
  const auto plain = read_text("a,b,y\n1.5,2,one\n-3,4.25,\"t,wo\"\n", {});
  const auto same = [&](const std::string& text, const csv_dialect& dialect) {
    const auto rows = read_text(text, {{}, {}, {}, dialect});
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
  EXPECT_TRUE(test::contains(
    refusal("a;b\n1.5;2\n", {{}, {}, {}, {.separator = ';', .decimal = ','}}), "decimal mark"));
  expect_said("#\na,y\n1,2\n#\nx,3\n", {{}, {}, {}, {.comment = '#'}}, ":5:1", {"'x'"});
  EXPECT_TRUE(test::contains(refusal("x\n", {{}, {}, {}, {.skip_lines = 5}}), "is empty"));
  expect_said("a;b\n1;2\n", {}, ":1:1", {"data.separator = \";\""});
  const auto gaps = read_text("a\tb\ty\n\t\t1\n2\t3\t4\n",
                              {{.missing = missing_rule::mean}, {}, {}, {.separator = '\t'}});
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
  EXPECT_EQ(seen("a;b\n1.234.567,5 €;2\n"), (csv_dialect{.separator = ';', .decimal = ','}));
  EXPECT_EQ(seen("a;b\n1,234;2\n1,234.5;2\n"), (csv_dialect{.separator = ';'}));
}

csv_facts facts_of(const std::string& text, uint64_t rows_max = 1000) {
  const temporary_folder folder;
  return facts_of_csv(folder.write("rows.csv", text), csv_header::automatic, rows_max);
}

TEST(csv_columns, are_told_apart_by_what_they_hold) {
  const auto facts = facts_of("id,name,height,gaps\n7,\"a,b\",1.5,\n8,c,2,x\n9,a,-3,4\n");
  EXPECT_TRUE(facts.has_header && facts.is_whole);
  EXPECT_EQ(facts.row_count, 3u);
  ASSERT_EQ(facts.columns.size(), 4u);
  const auto& [id, name, height, gaps] =
    std::tie(facts.columns[0], facts.columns[1], facts.columns[2], facts.columns[3]);
  EXPECT_TRUE(id.counts && id.is_whole);
  EXPECT_EQ(id.name, "id");
  EXPECT_EQ(name.text_count, 3u);
  EXPECT_EQ(name.first_text, "a,b");
  EXPECT_EQ(name.values, (std::map<std::string, uint64_t>{{"a", 1}, {"a,b", 1}, {"c", 1}}));
  EXPECT_TRUE(!height.counts && !height.is_whole);
  EXPECT_EQ(height.number_count, 3u);
  EXPECT_EQ((std::array{gaps.empty_count, gaps.text_count, gaps.number_count}),
            (std::array<uint64_t, 3>{1, 1, 1}));
}

TEST(csv_columns, dates_times_and_amounts_are_counted_by_the_orders_and_units_that_they_fit) {
  const auto facts = facts_of("iso,both,day,time,share,mixed\n"
                              "2021-01-02,3/4/2021,3/4/2021,1/18/2020 13:05,12%,$1\n"
                              "2021-01-03,4/3/2021,29/9/2021,1/19/2020 00:00,-3.5%,€2\n");
  const auto& x = facts.columns;
  const auto fits = [&](size_t i) {
    std::string result;
    for (const auto order : {date_form::year_first, date_form::day_first, date_form::month_first})
      result +=
        std::string(x[i].has_dates(order) ? "d" : "-") + (x[i].has_times(order) ? "t" : "-");
    return result + (x[i].has_amounts() ? " amounts" : "");
  };
  EXPECT_EQ(fits(0), "d-d-d-");
  EXPECT_EQ(fits(1), "--d-d-");
  EXPECT_EQ(fits(2), "--d---");
  EXPECT_EQ(fits(3), "----dt");
  EXPECT_EQ(fits(4), "------ amounts");
  EXPECT_EQ(fits(5), "------") << "two units";
}

TEST(csv_columns, texts_that_say_no_value_are_found_among_numbers_dates_and_amounts) {
  const auto words_of = [](const std::vector<std::string>& cells) {
    std::string text = "x,y\n", result;
    for (const auto& cell : cells)
      text += cell + ",1\n";
    const auto x = facts_of(text).columns[0];
    for (const auto& [word, count] : x.missing_words)
      result += word + " " + std::to_string(count) + ";";
    EXPECT_EQ(x.empty_count + x.number_count + x.text_count, cells.size());
    return result;
  };
  EXPECT_EQ(words_of({"1", "-", "2", "3", "-"}), "- 2;");
  EXPECT_EQ(words_of({"1", "Unknown", "$2", "NA", "3"}), "NA 1;Unknown 1;");
  EXPECT_EQ(words_of({"2021-01-02", "n.d.", "2021-01-03"}), "n.d. 1;");
  EXPECT_EQ(words_of({"1", "2", "crew", "3"}), "") << "may be a value, as there are few";
  EXPECT_EQ(words_of({"1", "-", "--", ".", "*", "2", "3", "4", "5"}), "") << "too many texts";
  EXPECT_EQ(words_of({"1", "-", "-"}), "") << "more than there are numbers";
  EXPECT_EQ(words_of({"1", "2", "10+"}), "") << "it has digits";
  EXPECT_EQ(words_of({"red", "-", "blue"}), "") << "beside categories it is one";
  std::vector<std::string> many{"crew"};
  for (int i = 0; i < 40; ++i)
    many.push_back(std::to_string(i));
  EXPECT_EQ(words_of(many), "crew 1;");
}

TEST(csv_columns, only_so_many_rows_and_values_are_looked_at) {
  std::string text = "a,b\n";
  for (int i = 0; i < 300; ++i)
    text += std::to_string(2 * i) + ",1\n";
  const auto all = facts_of(text);
  EXPECT_TRUE(all.is_whole && all.columns[0].has_many_values() && !all.columns[0].counts);
  EXPECT_EQ(all.columns[0].values.size(), csv_column::values_kept_max + 1);
  const auto some = facts_of(text, 40);
  EXPECT_FALSE(some.is_whole);
  EXPECT_EQ(some.row_count, 40u);
  EXPECT_FALSE(some.columns[0].has_many_values());
  EXPECT_TRUE(facts_of(text, 300).is_whole);
}

TEST(csv_columns, without_a_header_they_are_called_by_their_index) {
  const auto facts = facts_of("1,x\n2,y\n");
  EXPECT_FALSE(facts.has_header);
  EXPECT_EQ(facts.row_count, 2u);
  EXPECT_EQ(facts.columns[1].name, "1");
  EXPECT_THROW(facts_of(""), failure);
  EXPECT_THROW(facts_of("1,2\n3\n"), failure);
}

// Columns that say something of their row: weights, groups, clients, in one file and in any place.

csv_options weighed(const std::string& target = "last") {
  return {{.target = target, .weight = "w"}};
}

TEST(side_columns, are_no_features_and_stay_with_their_rows) {
  auto options = weighed("y");
  options.split_by = "who";
  options.client = "site";
  const auto read =
    read_text("who,a,y,w,site,b\nq,1,10,0.5,s,2\np,3,20,0,r,4\nq,5,30,2,s,6\n", options);
  EXPECT_EQ(read.feature_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read.features, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read.target_numbers, (std::vector<double>{10, 20, 30}));
  EXPECT_EQ(read.weights, (std::vector<float>{0.5f, 0, 2}));
  EXPECT_EQ(read.groups, (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_EQ(read.group_names, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(read.clients, (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_EQ(read.client_names, (std::vector<std::string>{"r", "s"}));
}

TEST(side_columns, stay_with_text_targets_and_coded_cells) {
  auto options = weighed();
  options.categorical = {"c"};
  options.missing = missing_rule::drop;
  const auto read = read_text("c,w,y\nu,1,no\n,7,yes\nv,3,yes\n", options);
  EXPECT_EQ(read.weights, (std::vector<float>{1, 3})) << "that of a row left out is left out";
  EXPECT_EQ(read.target_cells, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(read.feature_names, (std::vector<std::string>{"c=u", "c=v"}));
}

TEST(side_columns, a_weight_is_a_finite_number_of_zero_or_more) {
  const std::string no_number = " is no finite number of 0 or more";
  expect_said("a,w,y\n1,1,2\n1,-1,2\n", weighed(), ":3", {"'-1' in the column 'w'" + no_number});
  expect_said("a,w,y\n1,1,2\n1,much,2\n", weighed(), ":3",
              {"'much' in the column 'w'" + no_number});
  expect_said("a,w,y\n1,1e39,2\n1,1,2\n", weighed(), ":2", {no_number});
  expect_said("a,w,y\n1,1,2\n1,nan,2\n", weighed(), ":3:3", {"is not a finite number"});
  expect_said("a,w,y\n1,1,2\n1,,2\n", weighed(), ":3:3", {"its value is missing"});
  expect_said("a,w,y\n1,0,2\n1,0,2\n", weighed(), "", {"all weights in the column 'w' are 0"});
  EXPECT_EQ(read_text("a,w,y\n1,0,2\n1,1e-3,2\n", weighed()).weights[0], 0);
}

TEST(side_columns, a_row_without_a_weight_is_not_dropped) {
  auto options = weighed();
  options.missing = missing_rule::drop;
  options.missing_cells = {"NA"};
  for (const std::string cell : {"", "NA"})
    expect_said("a,w,y\n1,1,2\n1," + cell + ",2\n", options, ":3:3",
                {"missing", "a weight of 0 leaves a row out of the loss"});
}

TEST(side_columns, that_cannot_be_are_refused) {
  expect_said("a,w,y\n1,1,2\n", weighed("w"), ":1:1", {"is the target: it names no weights"});
  expect_said("w,y\n1,2\n", weighed(), ":1:1", {"but no feature"});
  auto twice = weighed();
  twice.split_by = "1"; // the same by its index
  expect_said("a,w,b,y\n1,1,1,2\n", twice, ":1:1", {"is named for something else too"});
  auto ignored = weighed();
  ignored.ignore = {"w"};
  refusal("a,w,b,y\n1,1,1,2\n", ignored);
  auto coded = weighed();
  coded.categorical = {"w"};
  expect_said("a,w,b,y\n1,1,1,2\n", coded, ":1:1", {"it is no feature"});
  expect_said("a,b,y\n1,1,2\n", weighed(), ":1:1", {"there is no column 'w'"});
}

} // namespace
} // namespace troupe::csv_plan_test
