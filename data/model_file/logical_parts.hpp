// A model's values in logical order, part by part: for files and digests of models that are larger
// than the memory there is. Values lie in working order (parameter_layout.hpp), where a few rows of a
// tensor that is cut in T parts are T runs.

#pragma once

#include "data/disk/stored_tensor.hpp"
#include "models/network/parameter_layout.hpp"

#include <cstddef>
#include <functional>
#include <span>

namespace troupe {

/// Values of a part, at most, unless told otherwise: 4 MiB. What is read from a checkpoint is checked by
/// chunks of 1 MiB: with much smaller parts, each would be read many times.
inline constexpr size_t logical_part_values = size_t{1} << 20;

/// Calls `take` with all values, in logical order, at most `most` at a time (>= 1). Throws what reading
/// `working` throws; std::invalid_argument when it is not layout.size() values.
void for_each_logical_part(const parameter_layout& layout, const stored_tensor& working,
                           const std::function<void(std::span<const float>)>& take,
                           size_t most = logical_part_values);

} // namespace troupe
