// Parameters as xtensor views, named tensors inside a flat buffer without a copy, and products of such views.
//
//   auto weight = tensor_view(model.layout(), parameters.values(), "layers.0.weight");
//   std::cout << xt::mean(weight) << '\n';
//   float_matrix scores = matrix_product(rows, xt::transpose(weight));
//
// A view lives no longer than the memory it looks at. matrix_product has the same bits on every machine. So have
// element-wise expressions of + - * / and xt::sqrt, where the compiler may not fuse (-ffp-contract=off, which comes
// with the package). xt::linalg has not: its bits are those of the linked BLAS. Nor have xtensor's sums, whose order
// follows from vector registers, and xt::exp and its kin, which are the C library's.

#pragma once

#include "models/math/products.hpp"
#include "models/network/parameter_layout.hpp"

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xeval.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace troupe {

namespace detail {

inline const tensor_info& require_tensor(const parameter_layout& layout, size_t size,
                                         std::string_view name) {
  const auto* info = layout.find(name);
  if (info == nullptr)
    throw std::invalid_argument("tensor view: the model has no tensor '" + std::string{name} + "'");
  if (!layout.pieces().empty())
    throw std::invalid_argument(
      "tensor view: the model's layers are cut in parts or read sparse rows, its parameters lie "
      "in working order: look at a copy in logical order "
      "(parameter_layout::to_logical) with the layout of a file");
  if (size != layout.size())
    throw std::invalid_argument("tensor view: the layout has " + std::to_string(layout.size()) +
                                " values, the buffer " + std::to_string(size));
  return *info;
}

} // namespace detail

/// The tensor called `name` as an xtensor expression over the buffer's own memory.
/// Throws std::invalid_argument for an unknown name or a buffer of another size.
inline auto tensor_view(const parameter_layout& layout, std::span<const float> values,
                        std::string_view name) {
  const auto& info = detail::require_tensor(layout, values.size(), name);
  return xt::adapt(values.data() + info.offset, info.size, xt::no_ownership(), info.shape);
}

/// The same, writable.
inline auto tensor_view(const parameter_layout& layout, std::span<float> values,
                        std::string_view name) {
  const auto& info = detail::require_tensor(layout, values.size(), name);
  return xt::adapt(values.data() + info.offset, info.size, xt::no_ownership(), info.shape);
}

/// Row-major, whatever an application has made xtensor's default.
using float_matrix = xt::xtensor<float, 2, xt::layout_type::row_major>;

namespace detail {

/// Calls use(view) for a 2-D expression of floats: where it lies, if its rows or columns do without gaps between values, else
/// of its values.
template <class E, class Use>
auto with_matrix_view(const E& x, const Use& use) {
  static_assert(std::is_same_v<typename E::value_type, float>, "a matrix product is one of floats");
  if (x.dimension() != 2)
    throw std::invalid_argument("matrix product: an operand has " + std::to_string(x.dimension()) +
                                " dimensions, not 2");
  const size_t rows = x.shape(0), columns = x.shape(1);
  if constexpr (xt::has_data_interface<E>::value) {
    // Of an extent of 1 the stride does not count, and xtensor has 0.
    const auto row = rows > 1 ? x.strides()[0] : 0, column = columns > 1 ? x.strides()[1] : 0;
    const auto* const data = x.data() + x.data_offset();
    if (row >= 0 && (column == 1 || columns == 1))
      return use(products::matrix_view{data, rows, columns, static_cast<size_t>(row), 1});
    if (column >= 0 && (row == 1 || rows == 1))
      return use(products::matrix_view{data, rows, columns, 1, static_cast<size_t>(column)});
  }
  const float_matrix values = x;
  return use(products::matrix_of(values.data(), rows, columns));
}

} // namespace detail

/// a b (M x N), of 2-D expressions of float (M x K and K x N), by the law of products.hpp: the same bits on every machine.
/// Tensors, views and transposes are read where they lie. Throws std::invalid_argument for shapes that do not fit.
template <class A, class B>
float_matrix matrix_product(const xt::xexpression<A>& a, const xt::xexpression<B>& b) {
  return detail::with_matrix_view(a.derived_cast(), [&](const products::matrix_view& left) {
    return detail::with_matrix_view(b.derived_cast(), [&](const products::matrix_view& right) {
      float_matrix result = float_matrix::from_shape({left.rows, right.columns});
      products::multiply(left, right, products::result_of(result.data(), left.rows, right.columns));
      return result;
    });
  });
}

} // namespace troupe
