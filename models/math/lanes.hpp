// Sums in a fixed order: 16 lanes, whatever the machine's vector width.
//
// Lane l holds the elements l, l + 16, l + 32, ..., added in that order; the lanes are then
// combined as a fixed binary tree. So the result is a function of the values and their order alone,
// and the loop still vectorises with 4, 8 or 16 floats at a time.

#pragma once

#include "models/base/multiversion.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace troupe {

inline constexpr size_t lane_count = 16;

/// Combines 16 lanes: l and l + 8 first, then l and l + 4, halving each time.
template <class T>
TROUPE_ALWAYS_INLINE T combine_lanes(std::array<T, lane_count>& lanes) {
  for (size_t width = lane_count / 2; width > 0; width /= 2)
    for (size_t l = 0; l < width; ++l)
      lanes[l] += lanes[l + width];
  return lanes[0];
}

/// Sum of term(i) for i in [0, count), accumulated in T.
template <class T, class Term>
TROUPE_ALWAYS_INLINE T lane_sum(size_t count, Term term) {
  alignas(64) std::array<T, lane_count> lanes{};
  size_t i = 0;
  for (; i + lane_count <= count; i += lane_count)
    for (size_t l = 0; l < lane_count; ++l)
      lanes[l] += term(i + l);
  for (size_t l = 0; i < count; ++i, ++l)
    lanes[l] += term(i);
  return combine_lanes(lanes);
}

/// True when none of `count` values is NaN or infinite. x * 0 is 0 for a finite x and NaN
/// otherwise; multiplication and addition vectorise where a test and branch do not.
bool all_finite(const float* values, size_t count);

} // namespace troupe
