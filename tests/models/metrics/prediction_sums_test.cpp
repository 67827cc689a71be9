// Metrics against cases worked by hand and against NumPy.

#include "models/metrics/prediction_sums.hpp"

#include "models/math/tree_accumulator.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace troupe::prediction_sums_test {
namespace {

// actual \ predicted:  2 1 0 / 0 3 1 / 0 0 0 (the third class is predicted once, and never there)
confusion_matrix small_matrix() {
  confusion_matrix matrix{3};
  for (auto [actual, predicted] : {std::pair{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 2}})
    matrix.add(static_cast<size_t>(actual), static_cast<size_t>(predicted));
  return matrix;
}

} // namespace

TEST(confusion_matrix, counts_rows_by_actual_and_predicted_class) {
  const auto matrix = small_matrix();
  EXPECT_EQ(matrix.count(0, 1), 1u);
  EXPECT_EQ(matrix.count(1, 0), 0u);
  EXPECT_EQ(matrix.actual_count(1), 4u);
  EXPECT_EQ(matrix.predicted_count(1), 4u);
  EXPECT_EQ(matrix.total(), 7u);
  EXPECT_EQ(matrix.correct(), 5u);
  EXPECT_DOUBLE_EQ(*matrix.accuracy(), 5.0 / 7);
}

TEST(confusion_matrix, scores_are_those_worked_by_hand) {
  const auto matrix = small_matrix();
  EXPECT_EQ(matrix.scores(0), (class_scores{1, 2.0 / 3, 2 * (2.0 / 3) / (1 + 2.0 / 3)}));
  EXPECT_EQ(matrix.scores(1), (class_scores{0.75, 0.75, 0.75}));
  EXPECT_EQ(matrix.scores(2), (class_scores{0, 0, 0})) << "never there: recall counts as 0";
  EXPECT_DOUBLE_EQ(matrix.macro().precision, (1 + 0.75 + 0) / 3);
  EXPECT_DOUBLE_EQ(matrix.macro().recall, (2.0 / 3 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(matrix.macro().f1, (0.8 + 0.75) / 3);
}

TEST(confusion_matrix, classes_that_do_not_occur_have_no_part_in_the_average) {
  confusion_matrix matrix{3};
  EXPECT_EQ(matrix.accuracy(), std::nullopt);
  EXPECT_EQ(matrix.macro(), class_scores{});
  matrix.add(2, 2);
  EXPECT_EQ(matrix.macro(), (class_scores{1, 1, 1}));
}

TEST(confusion_matrix, refuses_classes_it_does_not_have) {
  confusion_matrix matrix{2};
  EXPECT_THROW(matrix.add(2, 0), std::invalid_argument);
  EXPECT_THROW(matrix.add(0, 2), std::invalid_argument);
  EXPECT_THROW(confusion_matrix{0}, std::invalid_argument);
}

TEST(regression_sums, are_those_worked_by_hand) {
  // Targets 1 2 | 3 6 (mean 2 and 4, squares 2 and 8), errors 1, 0, -1, 2.
  const std::array<float, 4> targets{1, 2, 3, 6}, predictions{2, 2, 2, 8};
  const auto sums = compare(predictions, targets, 2);
  EXPECT_DOUBLE_EQ(*sums.mean_squared_error(), 6.0 / 4);
  EXPECT_DOUBLE_EQ(*sums.mean_absolute_error(), 1);
  EXPECT_DOUBLE_EQ(*sums.r2(), 1 - 6.0 / 10);
}

TEST(regression_sums, without_rows_or_variation_some_figures_do_not_exist) {
  const auto none = compare({}, {}, 1);
  EXPECT_EQ(none.mean_squared_error(), std::nullopt);
  EXPECT_EQ(none.r2(), std::nullopt);
  const std::array<float, 2> same{3, 3}, other{4, 2};
  EXPECT_EQ(compare(other, same, 1).r2(), std::nullopt);
  EXPECT_EQ(compare(other, same, 1).mean_absolute_error(), 1.0);
}

TEST(regression_sums, of_parts_add_up_far_from_zero) {
  // Around 4,000,000 a sum of squares minus a square of sums would keep no digit of the variance.
  std::vector<float> targets, predictions;
  for (int i = 0; i < 1000; ++i) {
    targets.push_back(4e6f + static_cast<float>(i % 5));
    predictions.push_back(targets.back() + 1);
  }
  tree_accumulator<regression_sums> parts;
  for (size_t begin = 0; begin < 1000; begin += 70) {
    const auto count = std::min<size_t>(70, 1000 - begin);
    parts.push(compare(std::span{predictions}.subspan(begin, count),
                       std::span{targets}.subspan(begin, count), 1));
  }
  EXPECT_DOUBLE_EQ(*parts.total().r2(), 1 - 1000.0 / 2000.0);
  EXPECT_EQ(parts.total().count, 1000u);
}

TEST(regression_sums, refuse_sizes_that_differ) {
  const std::array<float, 3> three{};
  EXPECT_THROW(compare(three, std::span{three}.first(2), 1), std::invalid_argument);
  EXPECT_THROW(compare(three, three, 2), std::invalid_argument);
}

TEST(metrics, agree_with_numpy) {
  const auto reference = test::load_reference("metrics.json");
  const auto labels = test::flat<size_t>(reference["labels"]);
  const auto guesses = test::flat<size_t>(reference["guesses"]);
  confusion_matrix matrix{5};
  for (size_t i = 0; i < labels.size(); ++i)
    matrix.add(labels[i], guesses[i]);
  const auto expected = test::flat<double>(reference["macro"]);
  EXPECT_NEAR(matrix.macro().precision, expected[0], 1e-14);
  EXPECT_NEAR(matrix.macro().recall, expected[1], 1e-14);
  EXPECT_NEAR(matrix.macro().f1, expected[2], 1e-14);
  const auto targets = test::flat<float>(reference["targets"]);
  const auto predictions = test::flat<float>(reference["predictions"]);
  const auto sums = compare(predictions, targets, 2);
  const auto figures = test::flat<double>(reference["regression"]);
  EXPECT_NEAR(*sums.mean_squared_error(), figures[0], 1e-13);
  EXPECT_NEAR(*sums.mean_absolute_error(), figures[1], 1e-13);
  EXPECT_NEAR(*sums.r2(), figures[2], 1e-13);
}

TEST(tensor_figures, are_those_of_the_finite_values) {
  const auto infinity = std::numeric_limits<float>::infinity();
  const std::array<float, 5> values{3, std::nanf(""), -4, infinity, -infinity};
  EXPECT_EQ(figures_of(values), (tensor_figures{5, -4, 3, 3}));
  EXPECT_EQ(figures_of(std::span{values}.subspan(3)), (tensor_figures{0, 0, 0, 2}));
}

} // namespace troupe::prediction_sums_test
