// Rows of which only the values that are there are kept, the others being 0: compressed sparse rows.
//
// Row i has the entries [begins[i], ends[i]): pairs of a feature and its value. Entries of all rows lie
// in two arrays that somebody else owns; rows of a batch lie there wherever they like, and so they are
// gathered by copying where they begin and end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Shapes: N rows, E entries.
struct sparse_rows {
  std::span<const uint64_t> begins;   ///< N
  std::span<const uint64_t> ends;     ///< N
  const uint32_t* features = nullptr; ///< E, below the model's features, rising within a row
  const float* values = nullptr;      ///< E, finite

  size_t row_count() const { return begins.size(); }
  std::span<const uint32_t> features_of(size_t i) const {
    return {features + begins[i], static_cast<size_t>(ends[i] - begins[i])};
  }
  std::span<const float> values_of(size_t i) const {
    return {values + begins[i], static_cast<size_t>(ends[i] - begins[i])};
  }
};

} // namespace troupe
