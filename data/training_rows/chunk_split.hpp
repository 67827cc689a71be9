// Which rows are for what where rows lie in chunks and are never looked at together: each chunk gives
// its share, so that all of it is known chunk by chunk.
//
//   test(R)       = floor(T R / N)               rows for testing among the first R, T of all N
//   validation(R) = floor(V (R - test(R)) / (N - T))
//
// A chunk gives test(end) - test(begin) rows, those with the smallest keys in it (part_choice.hpp),
// then likewise for validation. Over all chunks these are T and V rows exactly.

#pragma once

#include "data/training_rows/part_choice.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

class chunk_split {
public:
  /// `chunk_rows` >= 1. Throws what sizes_of_parts throws.
  chunk_split(uint64_t seed, size_t row_count, size_t chunk_rows, const part_fractions& fractions);

  size_t chunk_count() const { return (row_count_ + chunk_rows_ - 1) / chunk_rows_; } ///< M
  const part_sizes& sizes() const { return sizes_; }
  bool keeps_all_for_training() const { return sizes_.test + sizes_.validation == 0; }

  /// Rows of a part before each chunk, and at the end all of them: M + 1 numbers.
  std::vector<uint64_t> begins_of(row_part part) const;

  /// The part of each row of a chunk.
  std::vector<row_part> parts_of(size_t chunk) const;

  /// Where training rows of these numbers lie among all rows.
  std::vector<size_t> source_rows(std::span<const size_t> training_rows) const;

private:
  /// Rows of a part among the first `count` rows.
  size_t rows_before(row_part part, size_t count) const;

  uint64_t seed_;
  size_t row_count_;
  size_t chunk_rows_;
  part_sizes sizes_;
};

} // namespace troupe
