#include "models/base/tensor.hpp"

#include <gtest/gtest.h>
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xbroadcast.hpp>
#include <xtensor/xview.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

namespace {

/// Whole numbers, so that sums are exact in any order.
float_matrix counted(size_t rows, size_t columns, float first) {
  float_matrix result = float_matrix::from_shape({rows, columns});
  for (size_t i = 0; i < result.size(); ++i)
    result.flat(i) = first + static_cast<float>(i % 7);
  return result;
}

/// By its definition.
template <class A, class B>
float_matrix expected(const A& a, const B& b) {
  float_matrix result = xt::zeros<float>({a.shape(0), b.shape(1)});
  for (size_t i = 0; i < a.shape(0); ++i)
    for (size_t j = 0; j < b.shape(1); ++j)
      for (size_t k = 0; k < a.shape(1); ++k)
        result(i, j) += a(i, k) * b(k, j);
  return result;
}

template <class A, class B>
void expect_product(const A& a, const B& b) {
  EXPECT_EQ(matrix_product(a, b), expected(a, b));
}

} // namespace

TEST(matrix_product, is_that_of_tensors_views_and_expressions) {
  const auto a = counted(5, 9, -3), b = counted(9, 4, 1);
  expect_product(a, b);
  expect_product(xt::transpose(b), xt::transpose(a));
  expect_product(xt::view(a, xt::range(1, 4), xt::range(2, 8)),
                 xt::view(b, xt::range(3, 9), xt::all()));
  expect_product(xt::view(a, xt::range(0, 5, 2), xt::all()), b);
  expect_product(xt::view(a, xt::all(), xt::range(0, 9, 2)),
                 xt::view(b, xt::range(0, 9, 2), xt::all()));
  expect_product(xt::view(a, xt::range(4, xt::placeholders::_, -1), xt::all()), b);
  expect_product(a + 2.0f, 3.0f * b);
  expect_product(xt::broadcast(xt::view(a, 0), {3, 9}), b);
  const xt::xtensor<float, 2, xt::layout_type::column_major> by_columns = b;
  expect_product(a, by_columns);
  const xt::xarray<float> of_any_dimension = b;
  expect_product(a, of_any_dimension);
}

TEST(matrix_product, knows_that_strides_of_one_row_or_column_do_not_count) {
  for (const size_t m : {1u, 3u})
    for (const size_t k : {1u, 4u})
      for (const size_t n : {1u, 2u}) {
        const auto a = counted(m, k, 1), b = counted(k, n, -2);
        expect_product(a, b);
        expect_product(xt::transpose(b), xt::transpose(a));
        expect_product(xt::view(counted(m + 1, k, 1), xt::range(1, m + 1), xt::all()), b);
      }
}

TEST(matrix_product, has_the_bits_of_the_law) {
  const size_t k = 300;
  float_matrix a = float_matrix::from_shape({1, k}), b = float_matrix::from_shape({k, 1});
  for (size_t i = 0; i < k; ++i) {
    a(0, i) = 1.0f / static_cast<float>(i + 3);
    b(i, 0) = std::sqrt(static_cast<float>(i + 1));
  }
  float first = 0, second = 0;
  for (size_t i = 0; i < k; ++i) {
    auto& chain = i < 256 ? first : second;
    chain = std::fma(a(0, i), b(i, 0), chain);
  }
  EXPECT_EQ(matrix_product(a, b)(0, 0), first + second);
  // xtensor-blas takes the same views; its bits are its own.
  EXPECT_NEAR(xt::linalg::dot(a, b)(0, 0), first + second, 1e-4);
}

TEST(matrix_product, multiplies_parameters_where_they_lie) {
  parameter_layout layout;
  layout.add("w", {2, 3});
  layout.add("v", {2, 3});
  const std::vector<float> values{9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6};
  const auto v = tensor_view(layout, std::span<const float>{values}, "v");
  EXPECT_EQ(matrix_product(v, xt::transpose(v)), (float_matrix{{14, 32}, {32, 77}}));
  EXPECT_EQ(xt::linalg::dot(v, xt::transpose(v)), (float_matrix{{14, 32}, {32, 77}}));
}

TEST(matrix_product, names_shapes_that_do_not_fit) {
  const auto a = counted(2, 3, 1);
  try {
    matrix_product(a, a);
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_NE(std::string{problem.what()}.find("2 x 3 times 2 x 3"), std::string::npos)
      << problem.what();
  }
  const xt::xarray<float> line{1.0f, 2.0f};
  EXPECT_THROW(matrix_product(line, a), std::invalid_argument);
}

} // namespace troupe
