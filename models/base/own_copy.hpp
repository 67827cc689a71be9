// A copy of values in memory of its own, which nobody uses again: callers in a loop take a pool's (buffer.hpp).

#pragma once

#include "models/base/buffer.hpp"
#include "models/base/copy_values.hpp"

#include <span>

namespace troupe {

inline buffer own_copy(std::span<const float> values) {
  buffer result{values.size()};
  copy_values(values, result.values().begin());
  return result;
}

} // namespace troupe
