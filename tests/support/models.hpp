// Models as lists of numbers, for tests of what merges them.

#pragma once

#include "models/base/buffer.hpp"
#include "models/base/random.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::test {

using floats = std::vector<float>;

inline std::vector<std::span<const float>> spans_of(const std::vector<floats>& models) {
  return {models.begin(), models.end()};
}

inline const_buffer buffer_of(const floats& values) {
  const buffer storage{values.size()};
  std::ranges::copy(values, storage.values().begin());
  return storage;
}

inline floats values_of(const const_buffer& storage) {
  const auto values = storage.values();
  return {values.begin(), values.end()};
}

/// `count` models of `size` normal numbers each.
inline std::vector<floats> normal_models(size_t count, size_t size, uint64_t seed,
                                         float deviation = 1) {
  std::vector<floats> result(count, floats(size));
  for (size_t i = 0; i < count; ++i)
    fill_normal({seed, random_purpose::synthetic_features, i}, 0, deviation, result[i]);
  return result;
}

} // namespace troupe::test
