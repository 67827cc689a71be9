// Writes a file of rows (rows_header.hpp), part by part: memory for one chunk, and 16 bytes for each
// written. The file takes its name when it is whole; until then nobody sees anything of it.

#pragma once

#include "data/disk/atomic_file.hpp"
#include "data/rows_file/rows_file.hpp"
#include "data/rows_file/rows_header.hpp"
#include "data/table/dataset.hpp"
#include "models/math/tree_accumulator.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows to write. Shapes: n rows, F features, T targets; either labels or targets.
struct rows_part {
  std::span<const float> features; ///< n x F
  std::span<const int32_t> labels; ///< n
  std::span<const float> targets;  ///< n x T
};

class rows_writer {
public:
  /// `header` tells all but checksums and statistics, which are counted on the way. Throws what
  /// atomic_file throws, and std::invalid_argument for names that are not UTF-8.
  rows_writer(const std::string& path, rows_header header);

  /// Throws failure(bad_data) when rows or values come that the header does not tell of: the source
  /// has changed since it was counted.
  void append(const rows_part& rows);

  /// The file takes its name. Throws failure(bad_data) when rows are missing.
  void publish();

private:
  void append_row(const rows_part& rows, size_t i);
  void write_chunk();
  [[noreturn]] void refuse() const;

  rows_header header_;
  rows_preamble preamble_;
  std::string path_;
  atomic_file file_;
  std::vector<float> features_;  ///< of the chunk
  std::vector<uint8_t> bytes_;   ///< of the same, where they are kept as bytes
  std::vector<int32_t> labels_;  ///< likewise, or
  std::vector<float> targets_;   ///< these
  std::vector<uint64_t> counts_; ///< rows of each class so far
  uint64_t written_ = 0;         ///< rows
  tree_accumulator<column_statistics> statistics_;
};

// Writes rows that are in memory as a file of rows (rows_header.hpp).

/// What a file of these rows tells of itself, but for checksums and statistics. Features that are all
/// whole numbers from 0 to 255 are bytes. `chunk_rows`: absent: default_chunk_rows.
rows_header rows_header_of(const dataset& rows, std::optional<uint64_t> chunk_rows = {});

/// Throws what rows_writer throws.
void write_rows(const std::string& path, const dataset& rows,
                std::optional<uint64_t> chunk_rows = {});

/// Writes the rows [begin, end) of `file`, and returns what the new one tells. Throws what rows_file
/// and rows_writer throw.
rows_header write_part(const rows_file& file, uint64_t begin, uint64_t end,
                       const std::string& path);

} // namespace troupe
