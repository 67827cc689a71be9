#include "models/merging/average.hpp"

#include "models/base/random.hpp"
#include "models/merging/merge_weights.hpp"
#include "models/merging/regression_mean.hpp"
#include "models/network/neural_network.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace troupe::average_test {
namespace {

using test::floats;
using test::spans_of;

TEST(model_average, is_the_mean_of_each_parameter_or_weighs_each_model) {
  const std::vector<floats> models{{1, -2}, {3, 4}, {8, 1}};
  EXPECT_EQ(average(spans_of(models)), (floats{4, 1})) << "of all of them, not of every other one";
  EXPECT_EQ(weighted_sum(spans_of({{1, -2}, {3, 4}}), std::vector<double>{0.75, 0.25}),
            (floats{1.5, -0.5}));
}

TEST(model_average, of_equal_models_is_that_model_bit_for_bit) {
  const auto model = test::normal_models(1, 500, 3).front();
  for (size_t n : {1, 2, 3, 7, 49, 1000}) {
    auto copies = std::vector<floats>(n, model);
    const auto merged = average(spans_of(copies));
    EXPECT_EQ(merged, model) << n;
  }
  const std::vector<floats> zeros(3, floats{-0.0f});
  EXPECT_TRUE(std::signbit(average(spans_of(zeros))[0]));
}

TEST(model_average, does_not_overflow_on_the_way) {
  constexpr float great = std::numeric_limits<float>::max();
  const std::vector<floats> models(5, floats{great, -great});
  EXPECT_EQ(average(spans_of(models)), models.front());
}

TEST(model_average, rounds_down_and_up) {
  const floats values{1.5f, -1.5f, 2, -0.25f};
  const auto rounded = [&](merge_rounding how) {
    auto result = values;
    round_values(how, result);
    return result;
  };
  EXPECT_EQ(rounded(merge_rounding::none), values);
  EXPECT_EQ(rounded(merge_rounding::floor), (floats{1, -2, 2, -1}));
  EXPECT_EQ(rounded(merge_rounding::ceiling), (floats{2, -1, 2, 0}));
}

TEST(model_average, of_whole_numbers_stays_whole_when_rounded) {
  for (size_t n = 1; n < 60; ++n) {
    const std::vector<floats> models(n, floats{2, -3});
    for (auto how : {merge_rounding::floor, merge_rounding::ceiling}) {
      auto merged = average(spans_of(models));
      round_values(how, merged);
      EXPECT_EQ(merged, models.front()) << n << ": n times 2 / n may be just below 2 in double";
    }
  }
}

TEST(model_average, refuses_what_has_none) {
  EXPECT_THROW(average({}), std::invalid_argument);
  EXPECT_THROW(average(spans_of({{1, 2}, {1}})), std::invalid_argument);
  EXPECT_THROW(average(spans_of({{1}, {NAN}})), std::invalid_argument);
  EXPECT_THROW(weighted_sum(spans_of({{1}, {2}}), std::vector<double>{1}), std::invalid_argument);
  EXPECT_EQ(test::complaint_of([] {
              average(spans_of({{1}, {2}, {INFINITY}}));
            }),
            "weighted sum of models: a parameter of model 2 is not finite");
}

parameter_layout
layout_of(const std::vector<std::pair<std::string, std::vector<size_t>>>& tensors) {
  parameter_layout result;
  for (const auto& [name, shape] : tensors)
    result.add(name, shape);
  return result;
}

TEST(layout_union, has_each_name_once_where_it_first_appears) {
  const auto a = layout_of({{"w", {2}}, {"b", {1}}});
  const auto b = layout_of({{"c", {3}}, {"b", {1}}});
  const std::vector<const parameter_layout*> both{&a, &b};
  EXPECT_EQ(union_of(both), layout_of({{"w", {2}}, {"b", {1}}, {"c", {3}}}));
}

TEST(layout_union, lays_models_out_anew_with_zeros_for_what_is_missing) {
  const auto a = layout_of({{"w", {2}}, {"b", {1}}});
  const auto b = layout_of({{"c", {1}}, {"b", {1}}});
  const std::vector<const parameter_layout*> both{&a, &b};
  const auto whole = union_of(both);
  EXPECT_EQ(relaid(floats{1, 2, 3}, a, whole), (floats{1, 2, 3, 0}));
  EXPECT_EQ(relaid(floats{5, 6}, b, whole), (floats{0, 0, 6, 5}));
}

TEST(layout_union, refuses_a_name_with_two_shapes) {
  const auto a = layout_of({{"w", {2, 3}}});
  const auto b = layout_of({{"w", {3, 2}}});
  const std::vector<const parameter_layout*> both{&a, &b};
  EXPECT_EQ(test::complaint_of([&] { union_of(both); }),
            "union of layouts: tensor 'w' is 2 x 3 in one model and 3 x 2 in another");
  EXPECT_THROW(relaid(floats{1}, a, a), std::invalid_argument);
  EXPECT_THROW(relaid(floats(6), a, layout_of({{"v", {6}}})), std::invalid_argument);
}

using doubles = std::vector<double>;

judgement regression_of(double error_sum) {
  return {false, error_sum, 0, 1};
}

judgement classification_of(uint64_t correct, uint64_t rows) {
  return {true, 0, correct, rows};
}

void expect_near(const doubles& weights, const doubles& expected) {
  ASSERT_EQ(weights.size(), expected.size());
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], expected[i], 1e-15) << i;
}

TEST(merge_weights, equal_ones_add_up_to_one) {
  EXPECT_EQ(equal_weights(4), (doubles{0.25, 0.25, 0.25, 0.25}));
  EXPECT_THROW(equal_weights(0), std::invalid_argument);
}

TEST(merge_weights, of_regressions_fall_with_their_errors) {
  // sum e = 4: (1 - 1/4) / 2, (1 - 3/4) / 2, (1 - 0) / 2
  expect_near(regression_weights(doubles{1, 3, 0}), {0.375, 0.125, 0.5});
  EXPECT_EQ(regression_weights(doubles{5}), doubles{1}) << "not 0 / 0";
  EXPECT_EQ(regression_weights(doubles{0}), doubles{1});
  EXPECT_EQ(regression_weights(doubles{0, 0}), (doubles{0.5, 0.5})) << "not 0 / 0";
}

TEST(merge_weights, of_classifications_are_shares_of_right_rows) {
  const std::vector<judgement> judged{classification_of(3, 10), classification_of(1, 10)};
  expect_near(accuracy_weights(judged), {0.75, 0.25});
  expect_near(classification_weights(doubles{0, 0, 0}), doubles(3, 1.0 / 3));
}

TEST(merge_weights, judgements_of_both_kinds_do_not_mix) {
  const std::vector<judgement> mixed{classification_of(3, 10), regression_of(1)};
  EXPECT_THROW(accuracy_weights(mixed), std::invalid_argument);
  const std::vector<judgement> no_rows{classification_of(0, 0)};
  EXPECT_THROW(accuracy_weights(no_rows), std::invalid_argument);
  const std::vector<judgement> regressions{regression_of(1), regression_of(3)};
  expect_near(accuracy_weights(regressions), {0.75, 0.25});
}

TEST(merge_weights, best_is_the_first_of_the_strictly_highest) {
  EXPECT_EQ(best_weights(doubles{0.1, 0.6, 0.3}), (doubles{0, 1, 0}));
  EXPECT_EQ(best_weights(doubles{0.2, 0.4, 0.4}), (doubles{0, 1, 0}));
  EXPECT_EQ(best_weights(doubles{0, 0, 0}), (doubles{1, 0, 0})) << "the first child's, always";
  EXPECT_EQ(best_weights(regression_weights(doubles{2, 1, 3})), (doubles{0, 1, 0}));
}

TEST(merge_weights, custom_numbers_are_divided_by_their_sum) {
  EXPECT_EQ(custom_weights(doubles{1, 3, 0}), (doubles{0.25, 0.75, 0}));
  EXPECT_THROW(custom_weights(doubles{1, -0.5}), std::invalid_argument);
  EXPECT_THROW(custom_weights(doubles{0, 0}), std::invalid_argument);
  EXPECT_THROW(custom_weights(doubles{1, NAN}), std::invalid_argument);
  EXPECT_THROW(custom_weights(doubles{1, INFINITY}), std::invalid_argument);
  EXPECT_THROW(custom_weights({}), std::invalid_argument);
}

TEST(merge_weights, by_samples_are_shares_of_them) {
  EXPECT_EQ(sample_weights(std::vector<uint64_t>{10, 30, 0}), (doubles{0.25, 0.75, 0}));
  EXPECT_THROW(sample_weights(std::vector<uint64_t>{0, 0}), std::invalid_argument);
}

TEST(merge_weights, figures_out_of_range_are_refused) {
  EXPECT_THROW(regression_weights(doubles{1, -1}), std::invalid_argument);
  EXPECT_THROW(regression_weights(doubles{NAN, 1}), std::invalid_argument);
  EXPECT_THROW(regression_weights(doubles{INFINITY, 1}), std::invalid_argument);
  EXPECT_THROW(classification_weights(doubles{0.5, 1.5}), std::invalid_argument);
  EXPECT_THROW(classification_weights(doubles{NAN}), std::invalid_argument);
}

TEST(merge_weights, a_regression_is_judged_by_its_absolute_errors) {
  const neural_network line{{1, 1, {}, activation_kind::relu, loss_kind::squared}};
  workspace memory;
  const std::vector<float> x{0, 1, 2}, y{1, 1, 1}, parameters{2, 0}; // 2 x: 0, 2, 4
  const auto figure = judge(line, parameters, {3, x, {}, y}, memory);
  EXPECT_EQ(figure, (judgement{false, 5, 0, 3}));
  EXPECT_THROW(judge(line, parameters, {}, memory), std::invalid_argument);
}

TEST(merge_weights, a_classification_is_judged_by_its_right_rows) {
  const neural_network network{{1, 2, {}}};
  workspace memory;
  const std::vector<float> x{-1, 1, 2, 3}, parameters{0, 1, 0, 0}; // class 1 above 0
  const std::vector<int32_t> labels{0, 1, 1, 0};
  const auto figure = judge(network, parameters, {4, x, labels, {}}, memory);
  EXPECT_EQ(figure, (judgement{true, 0, 3, 4}));
}

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
  SCOPED_TRACE(bias);
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

TEST(regression_mean, is_the_least_squares_solution_of_all_rows) {
  expect_merges_to_pooled(true);
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

} // namespace
} // namespace troupe::average_test
