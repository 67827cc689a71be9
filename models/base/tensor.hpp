// Parameters as xtensor views: named tensors inside a flat buffer, without a copy.
//
//   auto weight = tensor_view(model.layout(), parameters.values(), "layers.0.weight");
//   std::cout << xt::mean(weight) << '\n';
//
// A view lives no longer than the memory it looks at.

#pragma once

#include "troupe/models/network/parameter_layout.hpp"

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

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

} // namespace troupe
