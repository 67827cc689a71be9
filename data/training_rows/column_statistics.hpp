// Mean and spread of each column over rows that come part by part. Parts are put together exactly
// enough and in a fixed tree, so the same parts give the same bits wherever they are counted.
// Source: T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", 1983.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Of n rows with F columns; without rows the empty one.
struct column_statistics {
  uint64_t row_count = 0;      ///< n
  std::vector<double> means;   ///< F
  std::vector<double> squares; ///< F: sums of squared differences from the means

  /// Of the rows of both.
  friend column_statistics operator+(const column_statistics& a, const column_statistics& b);
  friend bool operator==(const column_statistics&, const column_statistics&) = default;
};

/// Of `rows` (n x F, row-major).
column_statistics column_statistics_of(std::span<const float> rows, size_t feature_count);

} // namespace troupe
