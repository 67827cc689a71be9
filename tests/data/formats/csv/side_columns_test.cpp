// Columns that say something of their row: weights, groups, clients, in one file and in any place.

#include "data/formats/csv/csv.hpp"
#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace troupe::side_columns_test {
namespace {

csv_options weighed(const std::string& target = "last") {
  csv_options options;
  options.target = target;
  options.weight = "w";
  return options;
}

table read_text(const std::string& text, const csv_options& options) {
  const temporary_folder folder;
  return read_csv(folder.write("rows.csv", text), options);
}

/// ":3 reason; hint".
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

void expect_said(const std::string& said, const std::string& where, const std::string& part) {
  EXPECT_TRUE(said.starts_with(where)) << said;
  EXPECT_NE(said.find(part), said.npos) << said;
}

} // namespace

TEST(side_columns, are_no_features_and_stay_with_their_rows) {
  auto options = weighed("y");
  options.group = "who";
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
  options.columns.categorical = {"c"};
  options.columns.missing = missing_rule::drop;
  const auto read = read_text("c,w,y\nu,1,no\n,7,yes\nv,3,yes\n", options);
  EXPECT_EQ(read.weights, (std::vector<float>{1, 3})) << "that of a row left out is left out";
  EXPECT_EQ(read.target_cells, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(read.feature_names, (std::vector<std::string>{"c=u", "c=v"}));
}

TEST(side_columns, a_weight_is_a_finite_number_of_zero_or_more) {
  const std::string no_number = " is no finite number of 0 or more";
  expect_said(refusal("a,w,y\n1,1,2\n1,-1,2\n", weighed()), ":3 ",
              "'-1' in the column 'w'" + no_number);
  expect_said(refusal("a,w,y\n1,1,2\n1,much,2\n", weighed()), ":3 ",
              "'much' in the column 'w'" + no_number);
  expect_said(refusal("a,w,y\n1,1e39,2\n1,1,2\n", weighed()), ":2 ", no_number);
  expect_said(refusal("a,w,y\n1,1,2\n1,nan,2\n", weighed()), ":3:3 ", "is not a finite number");
  expect_said(refusal("a,w,y\n1,1,2\n1,,2\n", weighed()), ":3:3 ", "its value is missing");
  expect_said(refusal("a,w,y\n1,0,2\n1,0,2\n", weighed()), " ",
              "all weights in the column 'w' are 0");
  EXPECT_EQ(read_text("a,w,y\n1,0,2\n1,1e-3,2\n", weighed()).weights[0], 0);
}

TEST(side_columns, a_row_without_a_weight_is_not_dropped) {
  auto options = weighed();
  options.columns.missing = missing_rule::drop;
  options.columns.missing_cells = {"NA"};
  for (const auto* cell : {"", "NA"}) {
    const auto said = refusal("a,w,y\n1,1,2\n1," + std::string{cell} + ",2\n", options);
    expect_said(said, ":3:3 ", "missing");
    expect_said(said, ":3:3 ", "a weight of 0 leaves a row out of the loss");
  }
}

TEST(side_columns, that_cannot_be_are_refused) {
  expect_said(refusal("a,w,y\n1,1,2\n", weighed("w")), ":1:1 ",
              "is the target: it names no weights");
  expect_said(refusal("w,y\n1,2\n", weighed()), ":1:1 ", "but no feature");
  auto twice = weighed();
  twice.group = "1"; // the same by its index
  expect_said(refusal("a,w,b,y\n1,1,1,2\n", twice), ":1:1 ", "is named for something else too");
  auto ignored = weighed();
  ignored.ignore = {"w"};
  EXPECT_NE(refusal("a,w,b,y\n1,1,1,2\n", ignored), "was read");
  auto coded = weighed();
  coded.columns.categorical = {"w"};
  expect_said(refusal("a,w,b,y\n1,1,1,2\n", coded), ":1:1 ", "it is no feature");
  expect_said(refusal("a,b,y\n1,1,2\n", weighed()), ":1:1 ", "there is no column 'w'");
}

} // namespace troupe::side_columns_test
