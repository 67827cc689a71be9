#include "data/table/table.hpp"

#include "data/table/dataset.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe::table_test {
namespace {

using test::contains;

/// A table with one feature, which counts the rows.
table with_targets(std::vector<std::string> cells, std::vector<double> numbers = {}) {
  table result;
  result.row_count = cells.size();
  result.feature_count = 1;
  for (size_t row = 0; row < cells.size(); ++row)
    result.features.push_back(static_cast<float>(row));
  result.feature_names = {"x"};
  result.target_name = "kind";
  result.target_cells = std::move(cells);
  result.target_numbers = std::move(numbers);
  result.source = "rows.csv";
  return result;
}

/// The same, every cell a number written the usual way.
table with_numbers(const std::vector<double>& numbers) {
  std::vector<std::string> cells;
  for (auto number : numbers)
    cells.push_back(std::to_string(number));
  return with_targets(cells, numbers);
}

failure refusal_of(table source, target_use use) {
  return test::failure_of([&] { to_dataset(std::move(source), use); });
}

TEST(table, text_targets_become_classes_sorted_by_bytes) {
  auto data = to_dataset(with_targets({"b", "a", "\xc3\xa9", "B", "b"}), target_use::by_content);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"B", "a", "b", "\xc3\xa9"}));
  EXPECT_EQ(data.labels, (std::vector<int32_t>{2, 1, 3, 0, 2}));
  EXPECT_TRUE(data.is_classification());
  EXPECT_TRUE(data.targets.empty());
  EXPECT_EQ(data.target_count, 0u);
  EXPECT_EQ(data.target_names, std::vector<std::string>{"kind"});
}

TEST(table, features_are_handed_on) {
  auto data = to_dataset(with_targets({"b", "a", "b"}), target_use::labels);
  EXPECT_EQ(data.row_count, 3u);
  EXPECT_EQ(data.feature_count, 1u);
  EXPECT_EQ(data.features, (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(data.feature_names, std::vector<std::string>{"x"});
}

TEST(table, numeric_labels_sort_as_numbers) {
  auto data = to_dataset(with_targets({"10", "9", "-1"}, {10, 9, -1}), target_use::labels);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"-1", "9", "10"}));
  EXPECT_EQ(data.labels, (std::vector<int32_t>{2, 1, 0}));
}

TEST(table, spellings_of_one_number_are_one_class_called_by_the_first) {
  auto data =
    to_dataset(with_targets({"1.0", "0", "1", "-0"}, {1, 0, 1, -0.0}), target_use::labels);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1.0"}));
  EXPECT_EQ(data.labels, (std::vector<int32_t>{1, 0, 1, 0}));
}

TEST(table, numbers_too_long_for_a_double_stay_different_classes) {
  // Both are 2^53 + a little: one double.
  auto data = to_dataset(with_targets({"9007199254740994", "9007199254740993.9"},
                                      {9007199254740994.0, 9007199254740994.0}),
                         target_use::labels);
  EXPECT_EQ(data.classes.size(), 2u);
}

TEST(table, few_whole_numbers_that_repeat_are_labels) {
  EXPECT_TRUE(to_dataset(with_numbers({0, 1, 0, 1}), target_use::by_content).is_classification());
  // Three rows for two values: less than two rows a value.
  EXPECT_FALSE(to_dataset(with_numbers({0, 1, 0}), target_use::by_content).is_classification());
  EXPECT_FALSE(
    to_dataset(with_numbers({0, 0.5, 0, 0.5}), target_use::by_content).is_classification());
}

// Whole numbers up to `count`, three times each.
std::vector<double> repeated_numbers(size_t count) {
  std::vector<double> result;
  for (size_t i = 0; i < 3 * count; ++i)
    result.push_back(static_cast<double>(i % count));
  return result;
}

// Ages, points and counts look like many classes: taking them for such in silence trained a
// classifier of 70 ages.
TEST(table, whole_numbers_of_which_only_the_user_can_tell_are_asked_about) {
  const auto use_of = [](size_t count) {
    return to_dataset(with_numbers(repeated_numbers(count)), target_use::by_content);
  };
  EXPECT_EQ(use_of(20).classes.size(), 20u);
  EXPECT_FALSE(use_of(101).is_classification());
  for (const size_t count : {21u, 70u, 100u}) {
    const auto error = refusal_of(with_numbers(repeated_numbers(count)), target_use::by_content);
    EXPECT_EQ(error.code(), failure_code::bad_job);
    EXPECT_EQ(error.where(), "model.loss");
    EXPECT_TRUE(contains(error.reason(), std::to_string(count) + " different ones"));
    EXPECT_TRUE(contains(error.hint(), "squared"));
    const auto numbers = with_numbers(repeated_numbers(count));
    EXPECT_FALSE(to_dataset(table{numbers}, target_use::numbers).is_classification());
    EXPECT_EQ(to_dataset(table{numbers}, target_use::labels).classes.size(), count);
  }
}

TEST(table, rows_of_known_classes_may_be_of_one) {
  EXPECT_EQ(refusal_of(with_targets({"b", "b"}), target_use::labels).code(),
            failure_code::bad_data);
  const auto text = to_dataset(with_targets({"b", "b"}), target_use::known_labels);
  EXPECT_EQ(text.classes, std::vector<std::string>{"b"});
  EXPECT_EQ(text.labels, (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(to_dataset(with_numbers({0, 1, 2}), target_use::known_labels).classes.size(), 3u);
}

TEST(table, as_many_classes_as_rows_are_warned_of) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i)
    names.push_back("row " + std::to_string(i));
  const auto data = to_dataset(with_targets(names), target_use::by_content);
  ASSERT_EQ(data.remarks.size(), 1u);
  EXPECT_TRUE(contains(data.remarks[0], "'kind' has 10 classes in 10 rows"));
  for (int i = 0; i < 10; ++i)
    names.push_back("row " + std::to_string(i));
  EXPECT_TRUE(to_dataset(with_targets(names), target_use::by_content).remarks.empty());
}

TEST(table, numbers_can_be_demanded) {
  auto data = to_dataset(with_numbers({1, 0, 1, 0.1}), target_use::numbers);
  EXPECT_FALSE(data.is_classification());
  EXPECT_TRUE(data.labels.empty());
  EXPECT_EQ(data.targets, (std::vector<float>{1, 0, 1, 0.1f}));
  EXPECT_EQ(data.target_count, 1u);
  EXPECT_EQ(data.target_names, std::vector<std::string>{"kind"});
}

TEST(table, text_is_refused_where_numbers_are_demanded) {
  auto source = with_targets({"1", "many"});
  source.first_text_line = 7;
  source.first_text_cell = "many";
  auto error = refusal_of(source, target_use::numbers);
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_EQ(error.where(), "rows.csv:7");
  EXPECT_TRUE(contains(error.reason(), "'many' in the target 'kind'"));
}

TEST(table, targets_beyond_float_are_refused) {
  auto error = refusal_of(with_targets({"1", "1e39"}, {1, 1e39}), target_use::numbers);
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_TRUE(contains(error.reason(), "'1e39'"));
  EXPECT_TRUE(contains(error.reason(), "row 2"));
}

TEST(table, one_class_is_refused) {
  auto error = refusal_of(with_targets({"a", "a"}), target_use::by_content);
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_EQ(error.where(), "rows.csv");
  EXPECT_TRUE(contains(error.reason(), "'kind'"));
  EXPECT_TRUE(contains(error.reason(), "only 'a'"));
}

using change = void (*)(dataset&);

dataset numbers() {
  dataset x;
  x.row_count = 3;
  x.feature_count = 2;
  x.features = {1, 2, 3, 4, 5, 6};
  x.feature_names = {"a", "b"};
  x.targets = {1, 2, 3};
  x.target_count = 1;
  x.target_names = {"y"};
  return x;
}

dataset labels() {
  auto x = numbers();
  x.targets.clear();
  x.target_count = 0;
  x.labels = {0, 1, 1};
  x.classes = {"no", "yes"};
  x.clients = {0, 0, 1};
  x.client_names = {"here", "there"};
  x.groups = {1, 0, 0};
  x.group_names = {"p", "q"};
  x.weights = {1, 0, 2};
  return x;
}

dataset sparse() {
  auto x = labels();
  x.features.clear();
  x.feature_names.clear();
  x.sparse = {{0, 2, 2, 3}, {0, 1, 1}, {1, 2, 3}};
  return x;
}

std::string refusal(dataset rows, change apply) {
  apply(rows);
  const auto problem = test::failure_of([&] { require_sound(rows); }, "");
  EXPECT_TRUE(problem.reason().empty() || problem.code() == failure_code::bad_data);
  return problem.reason();
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(dataset_check, rows_that_hold_together_pass) {
  for (const auto& rows : {numbers(), labels(), sparse()})
    EXPECT_NO_THROW(require_sound(rows));
  auto lent = numbers();
  const auto values = std::move(lent.features);
  lent.features.clear();
  lent.lent.values = values;
  EXPECT_NO_THROW(require_sound(lent));
}

TEST(dataset_check, what_does_not_hold_together_is_told_by_number_row_and_column) {
  const std::tuple<dataset, change, const char*> cases[] = {
    {numbers(), [](dataset& x) { x.features.resize(4); }, "4 feature values instead of 6"},
    {numbers(), [](dataset& x) { x.features.resize(7); }, "7 feature values instead of 6"},
    {numbers(), [](dataset& x) { x.targets.resize(2); }, "2 target values instead of 3"},
    {numbers(), [](dataset& x) { x.target_count = 0; }, "0 targets a row instead of 1"},
    {numbers(), [](dataset& x) { x.labels.assign(3, 0); }, "3 labels instead of 0"},
    {numbers(), [](dataset& x) { x.feature_names.clear(); }, "0 names of features instead of 2"},
    {numbers(), [](dataset& x) { x.target_names.clear(); }, "0 names of targets instead of 1"},
    {numbers(), [](dataset& x) { x.weights = {1}; }, "1 weights instead of 3"},
    {numbers(), [](dataset& x) { x.row_count = 2; }, "6 feature values instead of 4"},
    {numbers(), [](dataset& x) { x.lent.places = {0}; }, "1 places of lent rows instead of 0"},
    {numbers(), [](dataset& x) { x.target_count = 2, x.target_names.push_back("z"); },
     "3 target values instead of 6"},
    {labels(), [](dataset& x) { x.labels.pop_back(); }, "2 labels instead of 3"},
    {labels(), [](dataset& x) { x.target_count = 1; }, "1 targets a row instead of 0"},
    {numbers(), [](dataset& x) { x.features[3] = nan; }, "row 1, 'b': nan is not finite"},
    {numbers(), [](dataset& x) { x.targets[2] = INFINITY; }, "row 2, 'y': inf is not finite"},
    {numbers(), [](dataset& x) { x.weights.assign(3, 1), x.weights[1] = -1; },
     "row 1, 'weights': -1 is not finite or below 0"},
    {labels(), [](dataset& x) { x.weights[1] = nan; },
     "row 1, 'weights': nan is not finite or below 0"},
    {labels(), [](dataset& x) { x.labels[1] = 2; }, "row 1, 'labels': 2 is the number of no name"},
    {labels(), [](dataset& x) { x.labels[1] = -1; },
     "row 1, 'labels': -1 is the number of no name"},
    {labels(), [](dataset& x) { x.clients[1] = 2; },
     "row 1, 'clients': 2 is the number of no name"},
    {labels(), [](dataset& x) { x.groups[1] = 2; }, "row 1, 'groups': 2 is the number of no name"}};
  for (const auto& [rows, apply, reason] : cases)
    EXPECT_EQ(refusal(rows, apply), "the data set does not hold together: " + std::string{reason});
}

TEST(dataset_check, gaps_are_none_where_the_columns_plan_fills_them) {
  auto with_gap = numbers();
  with_gap.columns.missing = missing_rule::mean;
  EXPECT_EQ(refusal(with_gap, [](dataset& x) { x.features[0] = nan; }), "");
  EXPECT_NE(refusal(with_gap, [](dataset& x) { x.features[0] = INFINITY; }), "");
}

TEST(dataset_check, sparse_rows_rise_within_their_width) {
  const change cases[] = {[](dataset& x) { x.sparse.features[1] = 0; },
                          [](dataset& x) { x.sparse.features[2] = 2; },
                          [](dataset& x) { x.sparse.values[2] = nan; },
                          [](dataset& x) { x.sparse.starts[2] = 9; },
                          [](dataset& x) { x.sparse.starts[2] = 1; },
                          [](dataset& x) { x.sparse.starts[0] = 1; },
                          [](dataset& x) { x.sparse.starts.erase(x.sparse.starts.begin() + 1); },
                          [](dataset& x) { x.sparse.starts.back() = 2; },
                          [](dataset& x) { x.sparse.features.pop_back(); }};
  for (const auto& apply : cases)
    EXPECT_NE(refusal(sparse(), apply), "") << &apply - cases;
}

} // namespace
} // namespace troupe::table_test
