// Which rows are for what, and the move of a data set's rows to their parts in one pass of memory.
//
// Each row has a random key by (seed, row). The rows with the smallest keys are for testing, the
// next ones for validation: shares of any size, the same on every machine, and the second does not
// move the first. Keys are made again wherever they are asked for, so nothing is kept for a row.

#pragma once

#include "data/table/dataset.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

enum class row_part : uint8_t { train, test, validation, none };

template <>
struct name_table<row_part> {
  static constexpr std::array entries{named(row_part::train, "train"),
                                      named(row_part::validation, "validation"),
                                      named(row_part::test, "test")};
};

/// Rows.
struct part_sizes {
  size_t test = 0;
  size_t validation = 0;
  size_t none = 0; ///< of no part: between rows that have something in common
};

/// floor(fraction * N); a product that misses a whole number by rounding alone is that number: 0.29 of
/// 100 rows is 29.
size_t share_of(size_t row_count, double fraction);

/// `share_of` all rows each. Throws failure(bad_data) when no row is left for training.
part_sizes sizes_of_parts(size_t row_count, const part_options& options);

/// A row's key and its number, which decides between equal keys.
using row_place = std::pair<uint64_t, size_t>;
row_place place_of(uint64_t seed, size_t row);

/// The part of each row: a function of (seed, row, sizes).
class part_choice {
public:
  part_choice(uint64_t seed, size_t row_count, const part_sizes& sizes);

  row_part of(size_t row) const;

private:
  uint64_t seed_;
  row_place test_end_;       ///< the first that is not for testing
  row_place validation_end_; ///< likewise not for validation
};

/// Which rows of the source these training rows are, both from 0.
std::vector<size_t> source_rows(uint64_t seed, size_t row_count, const part_sizes& sizes,
                                std::span<const size_t> training_rows);

/// The names and the shape of `source`, and no rows.
dataset without_rows(const dataset& source);

/// Moves the rows that are not for training out of `rows`; all keep their order. `sizes` says how
/// many there are. The memory of rows that have moved is given back on the way, so that at most one
/// copy of the rows is held, and the rows of a few pages twice.
void split(dataset& rows, const part_sizes& sizes,
           const std::function<row_part(size_t row)>& part_of, dataset& test, dataset& validation);

// Which rows are for what where rows lie in chunks and are never looked at together: each chunk gives
// its share, so that all of it is known chunk by chunk.
//
//   test(R)       = floor(T R / N)               rows for testing among the first R, T of all N
//   validation(R) = floor(V (R - test(R)) / (N - T))
//
// A chunk gives test(end) - test(begin) rows, those with the smallest keys in it (place_of),
// then likewise for validation. Over all chunks these are T and V rows exactly.

class chunk_split {
public:
  /// `chunk_rows` >= 1. Throws what sizes_of_parts throws.
  chunk_split(uint64_t seed, size_t row_count, size_t chunk_rows, const part_options& options);

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
