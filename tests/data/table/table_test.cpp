#include "data/table/table.hpp"

#include "data/text/failure.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::table_test {

namespace {

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
  try {
    to_dataset(std::move(source), use);
  } catch (const failure& error) {
    return error;
  }
  ADD_FAILURE() << "was accepted";
  return {failure_code::internal, ""};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

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
    EXPECT_NE(error.reason().find(std::to_string(count) + " different ones"), std::string::npos);
    EXPECT_NE(error.hint().find("squared"), std::string::npos);
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
  EXPECT_TRUE(contains(data.remarks[0], "'kind' has 10 classes in 10 rows")) << data.remarks[0];
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

} // namespace troupe::table_test
