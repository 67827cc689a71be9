// A half-open range of indices: of slices, blocks, elements, parts.

#pragma once

#include <compare>
#include <cstddef>

namespace troupe {

struct index_range {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool contains(size_t i) const { return begin <= i && i < end; }
  bool contains(const index_range& other) const { return begin <= other.begin && other.end <= end; }
  friend auto operator<=>(const index_range&, const index_range&) = default;
};

} // namespace troupe
