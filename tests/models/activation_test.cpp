#include "troupe/models/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace troupe {

TEST(activation, values_match_hand_worked_ones) {
  const std::vector<float> x{-2, -0.5f, 0, 1};
  const auto activated = [&](activation_kind kind) {
    auto y = x;
    activate(kind, y);
    return y;
  };
  EXPECT_EQ(activated(activation_kind::identity), x);
  EXPECT_EQ(activated(activation_kind::relu), (std::vector<float>{0, 0, 0, 1}));
  const auto tanh = activated(activation_kind::tanh);
  const auto sigmoid = activated(activation_kind::sigmoid);
  const double expected_tanh[] = {-0.96402758, -0.46211716, 0, 0.76159416};
  const double expected_sigmoid[] = {0.11920292, 0.37754067, 0.5, 0.73105858};
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(tanh[i], expected_tanh[i], 1e-7);
    EXPECT_NEAR(sigmoid[i], expected_sigmoid[i], 1e-7);
  }
}

TEST(activation, derivatives_match_central_differences) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries)
    for (float x : {-3.0f, -0.7f, 0.4f, 2.5f}) {
      const float h = 1e-2f;
      std::vector<float> points{x - h, x + h, x};
      activate(kind, points);
      std::vector<float> delta{3};
      multiply_by_derivative(kind, std::span{points}.last(1), delta);
      EXPECT_NEAR(delta[0] / 3, (points[1] - points[0]) / (2 * h), 2e-4) << name << ' ' << x;
    }
}

TEST(activation, relu_has_no_slope_at_zero_and_no_negative_zero) {
  std::vector<float> y{-0.0f};
  activate(activation_kind::relu, y);
  EXPECT_FALSE(std::signbit(y[0]));
  std::vector<float> delta{1};
  multiply_by_derivative(activation_kind::relu, y, delta);
  EXPECT_EQ(delta[0], 0);
}

TEST(activation, a_nan_stays_a_nan) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries) {
    std::vector<float> y{std::numeric_limits<float>::quiet_NaN()};
    activate(kind, y);
    EXPECT_TRUE(std::isnan(y[0])) << name;
  }
}

TEST(activation, bias_is_added_to_each_row) {
  std::vector<float> y{1, -2, 3, -4};
  add_bias_and_activate(activation_kind::relu, std::vector<float>{10, 1}, y);
  EXPECT_EQ(y, (std::vector<float>{11, 0, 13, 0}));
  EXPECT_THROW(add_bias_and_activate(activation_kind::relu, std::vector<float>{1, 2, 3}, y),
               std::invalid_argument);
  EXPECT_THROW(multiply_by_derivative(activation_kind::relu, std::vector<float>{1}, y),
               std::invalid_argument);
}

} // namespace troupe
