#include "models/network/parameter_layout.hpp"

#include "models/base/tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace troupe::parameter_layout_test {

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

} // namespace troupe::parameter_layout_test
