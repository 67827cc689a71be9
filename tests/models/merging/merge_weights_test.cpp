#include "models/merging/merge_weights.hpp"

#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace troupe::merge_weights_test {

namespace {

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

} // namespace

TEST(merge_weights, equal_ones_add_up_to_one) {
  EXPECT_EQ(equal_weights(4), (doubles{0.25, 0.25, 0.25, 0.25}));
  EXPECT_THROW(equal_weights(0), std::invalid_argument);
}

TEST(merge_weights, of_regressions_fall_with_their_errors) {
  // sum e = 4: (1 - 1/4) / 2, (1 - 3/4) / 2, (1 - 0) / 2
  expect_near(regression_weights(doubles{1, 3, 0}), {0.375, 0.125, 0.5});
}

TEST(merge_weights, of_a_single_regression_is_one) {
  EXPECT_EQ(regression_weights(doubles{5}), doubles{1}) << "not 0 / 0";
  EXPECT_EQ(regression_weights(doubles{0}), doubles{1});
}

TEST(merge_weights, of_regressions_without_errors_are_equal) {
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
  neural_network_options shape;
  shape.features = 1;
  shape.outputs = 1;
  shape.loss = loss_kind::squared;
  const neural_network line{shape};
  workspace memory;
  const std::vector<float> x{0, 1, 2}, y{1, 1, 1}, parameters{2, 0}; // 2 x: 0, 2, 4
  const auto figure = judge(line, parameters, {3, x, {}, y}, memory);
  EXPECT_EQ(figure, (judgement{false, 5, 0, 3}));
  EXPECT_THROW(judge(line, parameters, {}, memory), std::invalid_argument);
}

TEST(merge_weights, a_classification_is_judged_by_its_right_rows) {
  neural_network_options shape;
  shape.features = 1;
  shape.outputs = 2;
  const neural_network network{shape};
  workspace memory;
  const std::vector<float> x{-1, 1, 2, 3}, parameters{0, 1, 0, 0}; // class 1 above 0
  const std::vector<int32_t> labels{0, 1, 1, 0};
  const auto figure = judge(network, parameters, {4, x, labels, {}}, memory);
  EXPECT_EQ(figure, (judgement{true, 0, 3, 4}));
}

} // namespace troupe::merge_weights_test
