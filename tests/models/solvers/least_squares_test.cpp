#include "models/solvers/least_squares.hpp"

#include "models/base/random.hpp"
#include "models/network/neural_network.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::least_squares_test {

TEST(least_squares, matches_a_hand_worked_line) {
  // Through (0, 1), (1, 3), (2, 4): slope 3/2, intercept 7/6; and exactly y = -x.
  const std::vector<float> x{0, 1, 2};
  const std::vector<float> y{1, 0, 3, -1, 4, -2};
  const auto found = least_squares({3, x, {}, y}, 1, 2);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_FLOAT_EQ(found[0], 1.5f);
  EXPECT_FLOAT_EQ(found[1], -1);
  EXPECT_FLOAT_EQ(found[2], 7.0f / 6);
  EXPECT_NEAR(found[3], 0, 1e-7);
}

TEST(least_squares, leaves_no_gradient) {
  const size_t rows = 300, features = 7, targets = 2;
  std::vector<float> x(rows * features), y(rows * targets);
  fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, x);
  fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 3, y);
  for (size_t i = 0; i < rows; ++i)
    x[i * features + 3] += 40; // far from the mean 0
  const batch all{rows, x, {}, y};
  const auto found = least_squares(all, features, targets);
  const neural_network network{{features, targets, {}, activation_kind::relu, loss_kind::squared}};
  ASSERT_EQ(found.size(), network.layout().size());
  std::vector<float> gradient(found.size());
  workspace memory;
  const auto sums = network.gradient(found, all, gradient, memory);
  EXPECT_GT(sums.loss_sum, 100) << "the rows lie on no plane";
  for (size_t k = 0; k < gradient.size(); ++k)
    EXPECT_NEAR(gradient[k] / static_cast<float>(rows), 0, 1e-3) << k;
}

TEST(least_squares, a_penalty_shrinks_weights_and_not_the_bias) {
  // Centred: sum x^2 = 2, sum x y = 3; w = 3 / (2 + r), b = mean(y) - w.
  const std::vector<float> x{0, 1, 2};
  const std::vector<float> y{1, 3, 4};
  const auto found = least_squares({3, x, {}, y}, 1, 1, {true, 4});
  EXPECT_FLOAT_EQ(found[0], 0.5f);
  EXPECT_FLOAT_EQ(found[1], 8.0f / 3 - 0.5f);
  const std::vector<float> dependent{1, 2, 2, 4, 5, 10};
  EXPECT_EQ(least_squares({3, dependent, {}, y}, 2, 1, {true, 1}).size(), 3u) << "one answer again";
  EXPECT_THROW(least_squares({3, x, {}, y}, 1, 1, {true, -1}), std::invalid_argument);
}

TEST(least_squares, goes_through_the_origin_without_a_bias) {
  const std::vector<float> x{0, 1, 2};
  const std::vector<float> y{1, 3, 4};
  const auto found = least_squares({3, x, {}, y}, 1, 1, {false, 0});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0], 11.0f / 5);
}

TEST(least_squares, names_the_column_that_follows_from_others) {
  const std::vector<float> rows{1, 0, 2, 2, 1, 4, 5, 7, 10, 3, 1, 6};
  const std::vector<float> y{1, 2, 3, 4};
  try {
    least_squares({4, rows, {}, y}, 3, 1);
    FAIL();
  } catch (const dependent_column& problem) {
    EXPECT_EQ(problem.column(), 2u);
  }
}

TEST(least_squares, refuses_what_has_no_single_answer) {
  const std::vector<float> dependent{1, 2, 2, 4, 5, 10};
  const std::vector<float> constant{1, 7, 2, 7, 5, 7};
  const std::vector<float> y{1, 2, 3};
  EXPECT_THROW(least_squares({3, dependent, {}, y}, 2, 1), std::invalid_argument);
  EXPECT_THROW(least_squares({3, constant, {}, y}, 2, 1), std::invalid_argument);
  EXPECT_THROW(least_squares({3, dependent, {}, y}, 3, 1), std::invalid_argument);
  EXPECT_THROW(least_squares({3, dependent, {}, y}, 2, 2), std::invalid_argument);
  EXPECT_THROW(least_squares({0, {}, {}, {}}, 2, 1), std::invalid_argument);
}

} // namespace troupe::least_squares_test
