// Values made by a rule, for what tries a kind out: the same on every machine.

#pragma once

#include "models/base/random.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// `count` values in [low, high); other values for another seed or `major`.
inline std::vector<float> made_values(uint64_t seed, uint64_t major, size_t count, float low,
                                      float high) {
  std::vector<float> result(count);
  fill_uniform({seed, random_purpose::initialization, major}, 0, low, high, result);
  return result;
}

/// NaN of the same bits is the same, 0 and -0 are not.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  });
}

} // namespace troupe
