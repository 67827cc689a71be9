// Sparse rows in memory (models/base/batch.hpp), one behind the other: 8 bytes an entry and 8 a
// row.

#pragma once

#include "troupe/models/base/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Shapes: N rows, E entries. Without `starts` it is none at all; of no rows it is {0}.
struct sparse_matrix {
  std::vector<uint64_t> starts;   ///< N + 1: row i has the entries starts[i] .. starts[i + 1] - 1
  std::vector<uint32_t> features; ///< E, rising within a row
  std::vector<float> values;      ///< E

  bool exists() const { return !starts.empty(); }
  size_t row_count() const { return exists() ? starts.size() - 1 : 0; }

  /// Rows [begin, begin + count), without a copy.
  sparse_rows rows(size_t begin, size_t count) const {
    if (!exists())
      return {};
    const auto all = std::span{starts};
    return {all.subspan(begin, count), all.subspan(begin + 1, count), features.data(),
            values.data()};
  }

  friend bool operator==(const sparse_matrix&, const sparse_matrix&) = default;
};

} // namespace troupe
