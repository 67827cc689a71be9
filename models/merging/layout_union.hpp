// Models with different tensors, made to one layout: the union of their names, what is missing = 0.

#pragma once

#include "troupe/models/network/parameter_layout.hpp"

#include <span>
#include <vector>

namespace troupe {

/// All tensors of all layouts, each where it first appears, layout by layout in the order given.
/// Throws std::invalid_argument when a name has two shapes.
parameter_layout union_of(std::span<const parameter_layout* const> layouts);

/// `values` of layout `from`, laid out as `to` says; tensors `from` does not have are 0. Throws
/// std::invalid_argument when sizes differ or `to` lacks a tensor.
std::vector<float> relaid(std::span<const float> values, const parameter_layout& from,
                          const parameter_layout& to);

} // namespace troupe
