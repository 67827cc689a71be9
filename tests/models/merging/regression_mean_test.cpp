#include "models/merging/regression_mean.hpp"

#include "models/base/random.hpp"
#include "models/merging/average.hpp"
#include "models/solvers/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::regression_mean_test {

namespace {

constexpr size_t features = 5, targets = 2;

struct rows_of_one {
  std::vector<float> x, y;
  batch view() const { return {x.size() / features, x, {}, y}; }
};

// Each owner's features lie elsewhere, and its targets on another plane.
rows_of_one owner(uint64_t number, size_t row_count) {
  rows_of_one rows{std::vector<float>(row_count * features),
                   std::vector<float>(row_count * targets)};
  fill_normal({number, random_purpose::synthetic_features, 0}, 0, 1, rows.x);
  fill_normal({number, random_purpose::synthetic_targets, 0}, 0, 2, rows.y);
  for (size_t i = 0; i < row_count; ++i) {
    rows.x[i * features + number % features] += 3;
    rows.y[i * targets] += static_cast<float>(number) * rows.x[i * features + 1];
  }
  return rows;
}

void expect_merges_to_pooled(bool bias) {
  rows_of_one pooled;
  std::vector<std::vector<float>> parameters;
  std::vector<std::vector<double>> grams;
  std::vector<regression_part> parts;
  std::vector<std::span<const float>> models;
  for (uint64_t k = 0; k < 4; ++k) {
    const auto rows = owner(k, 20 + 30 * k);
    pooled.x.insert(pooled.x.end(), rows.x.begin(), rows.x.end());
    pooled.y.insert(pooled.y.end(), rows.y.begin(), rows.y.end());
    parameters.push_back(least_squares(rows.view(), features, targets, {bias, 0}));
    grams.push_back(gram_matrix(rows.x, features, bias));
  }
  for (size_t k = 0; k < 4; ++k) {
    parts.push_back({parameters[k], grams[k]});
    models.push_back(parameters[k]);
  }
  const auto merged = regression_mean(parts, features, targets, bias);
  const auto expected = least_squares(pooled.view(), features, targets, {bias, 0});
  const auto plain = average(models);
  ASSERT_EQ(merged.size(), expected.size());
  float plain_distance = 0;
  for (size_t i = 0; i < merged.size(); ++i) {
    EXPECT_NEAR(merged[i], expected[i], 1e-5) << i;
    plain_distance = std::max(plain_distance, std::abs(plain[i] - expected[i]));
  }
  EXPECT_GT(plain_distance, 0.1f) << "a plain average is another model";
}

} // namespace

TEST(regression_mean, is_the_least_squares_solution_of_all_rows) {
  expect_merges_to_pooled(true);
}

TEST(regression_mean, is_so_without_a_bias_too) {
  expect_merges_to_pooled(false);
}

TEST(regression_mean, is_hand_worked_for_one_feature) {
  // 1 x 2 and 3 x 6, weighed by sum x^2 = 4 and 12: (8 + 72) / 16.
  const std::vector<float> a{2}, b{6};
  const std::vector<double> gram_a{4}, gram_b{12};
  const std::vector<regression_part> parts{{a, gram_a}, {b, gram_b}};
  EXPECT_EQ(regression_mean(parts, 1, 1, false), std::vector<float>{5});
}

TEST(gram_matrix, holds_products_of_columns_and_ones) {
  const std::vector<float> rows{1, 2, 3, 4};
  EXPECT_EQ(gram_matrix(rows, 2, false), (std::vector<double>{10, 14, 14, 20}));
  EXPECT_EQ(gram_matrix(rows, 2, true), (std::vector<double>{10, 14, 4, 14, 20, 6, 4, 6, 2}));
  EXPECT_THROW(gram_matrix(rows, 3, true), std::invalid_argument);
  EXPECT_THROW(gram_matrix(rows, 0, true), std::invalid_argument);
}

TEST(regression_mean, refuses_parts_that_do_not_fit_and_features_that_depend) {
  const std::vector<float> a{2, 3};
  const std::vector<double> square{1, 1, 1, 1}, small{1};
  EXPECT_THROW(regression_mean({}, 2, 1, false), std::invalid_argument);
  const std::vector<regression_part> dependent{{a, square}};
  EXPECT_THROW(regression_mean(dependent, 2, 1, false), dependent_column);
  EXPECT_THROW(regression_mean(dependent, 2, 1, true), std::invalid_argument);
  const std::vector<regression_part> misfit{{a, small}};
  EXPECT_THROW(regression_mean(misfit, 2, 1, false), std::invalid_argument);
}

} // namespace troupe::regression_mean_test
