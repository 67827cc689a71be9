#include "models/network/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace troupe::activation_test {

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
  const double expected_elu[] = {-0.86466472, -0.39346934, 0, 1};
  const double expected_gelu[] = {-0.04550026, -0.15426877, 0, 0.84134475};
  const double expected_silu[] = {-0.23840584, -0.18877033, 0, 0.73105858};
  const double expected_softplus[] = {0.12692801, 0.47407698, 0.69314718, 1.31326169};
  EXPECT_EQ(activated(activation_kind::leaky_relu), (std::vector<float>{-0.02f, -0.005f, 0, 1}));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(activated(activation_kind::elu)[i], expected_elu[i], 1e-7);
    EXPECT_NEAR(activated(activation_kind::gelu)[i], expected_gelu[i], 1e-7);
    EXPECT_NEAR(activated(activation_kind::silu)[i], expected_silu[i], 1e-7);
    EXPECT_NEAR(activated(activation_kind::softplus)[i], expected_softplus[i], 1e-7);
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
      std::vector<float> input{x};
      multiply_by_derivative(
        kind, derivative_needs_input(kind) ? std::span{input} : std::span{points}.last(1), delta);
      EXPECT_NEAR(delta[0] / 3, (points[1] - points[0]) / (2 * h), 2e-4) << name << ' ' << x;
    }
}

TEST(activation, both_at_once_are_what_they_are_apart) {
  std::vector<float> x;
  for (float value = -60; value < 60; value += 0.37f)
    x.push_back(value);
  for (const auto kind : {activation_kind::gelu, activation_kind::silu}) {
    auto y = x, expected = x;
    std::vector<float> derivative(x.size()), delta(x.size(), 1.0f);
    activate(kind, expected);
    multiply_by_derivative(kind, x, delta);
    activate_and_derive(kind, y, derivative);
    EXPECT_EQ(y, expected) << name_of(kind);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(derivative[i], delta[i], 1e-7) << name_of(kind) << ' ' << x[i];
  }
  EXPECT_THROW(activate_and_derive(activation_kind::relu, x, x), std::invalid_argument);
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

TEST(activation, slopes_far_out_are_those_of_the_lines) {
  for (const auto& [kind, name] : name_table<activation_kind>::entries) {
    if (!is_rectifier(kind))
      continue;
    std::vector<float> kept{-80, 80}, delta{1, 1};
    if (!derivative_needs_input(kind))
      activate(kind, kept);
    multiply_by_derivative(kind, kept, delta);
    EXPECT_NEAR(delta[0], kind == activation_kind::leaky_relu ? 0.01 : 0, 1e-7) << name;
    EXPECT_NEAR(delta[1], 1, 1e-7) << name;
  }
}

TEST(activation_list, one_kind_is_for_all_layers) {
  const activation_list one = activation_kind::tanh;
  EXPECT_EQ(one.of(7), activation_kind::tanh);
  const activation_list two = std::vector{activation_kind::tanh, activation_kind::elu};
  EXPECT_EQ(two.of(1), activation_kind::elu);
  EXPECT_THROW(two.of(2), std::out_of_range);
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

} // namespace troupe::activation_test
