// Rows that are read chunk by chunk, wherever they lie: in a file of rows (rows_file.hpp), or with an application
// (row_supply.hpp). What is known of all of them is there from the beginning.

#pragma once

#include "data/rows_file/rows_header.hpp"
#include "data/table/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows as they lie there. Shapes: n rows, F features, T targets.
struct rows_chunk {
  size_t row_count = 0;            ///< n
  std::vector<std::byte> features; ///< n x F, in the header's type
  std::vector<int32_t> labels;     ///< n, or none
  std::vector<float> targets;      ///< n x T, or none
};

/// Writes the features of row `row` of a chunk of such rows to `out` (F).
void copy_features(const rows_header& header, const rows_chunk& chunk, size_t row,
                   std::span<float> out);

class row_chunks {
public:
  virtual ~row_chunks() = default;

  virtual const rows_header& header() const noexcept = 0;
  virtual const std::string& name() const noexcept = 0; ///< for people: a path
  /// SHA-256 of what the header says, checksums of all chunks included, hexadecimal: the name of the content.
  virtual const std::string& fingerprint() const noexcept = 0;

  /// Chunk `number`, held against its checksums. Thread-safe. Throws failure(bad_data), naming the chunk, when they are
  /// not those that were promised.
  virtual rows_chunk read_chunk(uint64_t number) const = 0;
  /// The same without features: labels or targets alone.
  virtual rows_chunk read_targets(uint64_t number) const = 0;

  /// Writes the features of row `row` of a chunk to `out` (F).
  void copy_features(const rows_chunk& chunk, size_t row, std::span<float> out) const {
    troupe::copy_features(header(), chunk, row, out);
  }
};

/// Names and shape, without rows.
dataset names_of(const rows_header& header);

/// All rows, in memory. Throws failure(bad_data), with both numbers, when they need more memory than `bytes_max` (0: than
/// is available); what read_chunk throws.
dataset read_rows(const row_chunks& rows, uint64_t bytes_max = 0);

} // namespace troupe
