#include "models/network/initialization.hpp"

#include "models/base/tensor.hpp"
#include "models/network/parameter_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace troupe::initialization_test {
namespace {

std::vector<float> weights(initialization_kind kind, const initialization_request& request) {
  std::vector<float> result(request.inputs * request.outputs, 9);
  initialize(kind, request, result);
  return result;
}

double deviation(const std::vector<float>& values) {
  double square = 0;
  for (double x : values)
    square += x * x;
  return std::sqrt(square / static_cast<double>(values.size()));
}

/// Share of the values within `width` deviations of 0.
double share_within(const std::vector<float>& values, double width) {
  const double limit = width * deviation(values);
  const auto count = std::ranges::count_if(values, [&](float x) { return std::abs(x) < limit; });
  return static_cast<double>(count) / static_cast<double>(values.size());
}

TEST(initialization, zero_is_zero) {
  EXPECT_EQ(weights(initialization_kind::zero, {1, 0, 2, 3}), std::vector<float>(6, 0));
}

TEST(initialization, he_and_lecun_have_the_deviation_of_their_fan_in) {
  for (const auto& [kind, square] :
       {std::pair{initialization_kind::he, 2.0}, {initialization_kind::lecun, 1.0}})
    EXPECT_NEAR(deviation(weights(kind, {1, 0, 200, 300})), std::sqrt(square / 200), 0.001)
      << name_of(kind);
}

// 60,000 values: the mean's own deviation is a 245th of theirs, that of a share below 0.002.
TEST(initialization, normal_kinds_have_mean_zero_and_the_form_of_a_bell) {
  for (const auto kind :
       {initialization_kind::he, initialization_kind::lecun, initialization_kind::normal}) {
    const auto values = weights(kind, {1, 0, 200, 300});
    const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    EXPECT_NEAR(mean / deviation(values), 0, 4 / 245.0) << name_of(kind);
    EXPECT_NEAR(share_within(values, 0.5), 0.3829, 0.008) << name_of(kind);
    EXPECT_NEAR(share_within(values, 1), 0.6827, 0.008) << name_of(kind);
    EXPECT_NEAR(share_within(values, 2), 0.9545, 0.004) << name_of(kind);
  }
}

TEST(initialization, uniform_and_normal_follow_their_scale) {
  initialization_request request{1, 0, 200, 300};
  EXPECT_NEAR(deviation(weights(initialization_kind::normal, request)), 0.05, 0.001);
  request.scale = 0.5;
  EXPECT_NEAR(deviation(weights(initialization_kind::normal, request)), 0.5, 0.01);
  const auto values = weights(initialization_kind::uniform, request);
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_TRUE(low >= -0.5f && low < -0.499f && high < 0.5f && high > 0.499f) << low << ' ' << high;
}

TEST(initialization, xavier_stays_within_its_limit) {
  const auto values = weights(initialization_kind::xavier, {1, 0, 200, 300});
  const double limit = std::sqrt(6.0 / 500);
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_GE(low, -limit);
  EXPECT_LE(high, limit);
  EXPECT_LT(low, -0.999 * limit);
  EXPECT_GT(high, 0.999 * limit);
  EXPECT_NEAR(deviation(values), limit / std::sqrt(3.0), 0.001);
}

TEST(initialization, tensors_and_seeds_differ) {
  const auto a = weights(initialization_kind::he, {1, 0, 4, 4});
  EXPECT_NE(a, weights(initialization_kind::he, {2, 0, 4, 4}));
  EXPECT_NE(a, weights(initialization_kind::he, {1, 2, 4, 4}));
  EXPECT_THROW(weights(initialization_kind::he, {1, 0, 0, 4}), std::invalid_argument);
}

TEST(parameter_layout, packs_tensors_in_order) {
  parameter_layout layout;
  EXPECT_EQ(layout.add("a", {2, 3}), 0u);
  EXPECT_EQ(layout.add("b", {5}), 1u);
  EXPECT_EQ(layout.size(), 11u);
  EXPECT_EQ(layout.tensors()[1].offset, 6u);
  EXPECT_EQ(layout.find("b")->size, 5u);
  EXPECT_EQ(layout.find("c"), nullptr);
}

TEST(parameter_layout, refuses_what_cannot_be_a_tensor) {
  parameter_layout layout;
  layout.add("a", {1});
  EXPECT_THROW(layout.add("a", {1}), std::invalid_argument);
  EXPECT_THROW(layout.add("b", {}), std::invalid_argument);
  EXPECT_THROW(layout.add("b", {3, 0}), std::invalid_argument);
  EXPECT_EQ(layout.size(), 1u);
}

TEST(parameter_layout, refuses_what_cannot_be_addressed) {
  constexpr size_t half = size_t{1} << 31;
  parameter_layout layout;
  EXPECT_THROW(layout.add("a", {half * 2, half * 2}), std::length_error)
    << "the product wraps to 0";
  EXPECT_THROW(layout.add("a", {half, half}), std::length_error) << "as bytes";
  layout.add("a", {half, half / 4});
  EXPECT_THROW(layout.add("b", {half, half - 1}), std::length_error) << "the sum";
  EXPECT_EQ(layout.size(), half * half / 4);
}

TEST(tensor_view, is_the_buffers_own_memory) {
  parameter_layout layout;
  layout.add("a", {1});
  layout.add("w", {2, 3});
  std::vector<float> values(7);
  std::iota(values.begin(), values.end(), 0.0f);
  auto w = tensor_view(layout, std::span<float>{values}, "w");
  EXPECT_EQ(w.shape(0), 2u);
  EXPECT_EQ(w(1, 0), 4);
  w(1, 2) = 60;
  EXPECT_EQ(values[6], 60);
  EXPECT_EQ(xt::sum(tensor_view(layout, std::span<const float>{values}, "w"))(), 75);
}

TEST(tensor_view, names_what_does_not_fit) {
  parameter_layout layout;
  layout.add("w", {2});
  const std::vector<float> values(2);
  EXPECT_THROW(tensor_view(layout, std::span{values}, "v"), std::invalid_argument);
  EXPECT_THROW(tensor_view(layout, std::span{values}.first(1), "w"), std::invalid_argument);
}

} // namespace
} // namespace troupe::initialization_test
