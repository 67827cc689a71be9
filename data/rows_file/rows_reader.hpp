// Reads a file of rows (rows_header.hpp) whole, or part by part (row_reader.hpp) for those who take any format:
// columns are its features and then its targets; a class is told by its name.

#pragma once

#include "data/rows_file/rows_file.hpp"
#include "data/table/dataset.hpp"
#include "data/table/row_reader.hpp"

#include <cstdint>
#include <string>

namespace troupe {

class rows_reader : public row_reader {
public:
  /// Opens the file. Throws what rows_file throws.
  explicit rows_reader(const std::string& path);

  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  void append_row(table_chunk& out);
  void append_target(table_chunk& out, size_t column) const;

  rows_file file_;
  rows_chunk chunk_;
  uint64_t next_chunk_ = 0;
  size_t row_ = 0;              ///< of the chunk
  uint64_t rows_given_ = 0;     ///< of the file
  std::vector<float> features_; ///< of one row
};

// A file of rows (rows_header.hpp) read whole into memory, and its names without rows.

/// Names and shape, without rows.
dataset names_of(const rows_header& header);

/// All rows. Throws failure(bad_data), with both numbers, when they need more memory than
/// `bytes_max` (0: than is available); what rows_file::read_chunk throws.
dataset read_rows(const rows_file& file, uint64_t bytes_max = 0);

} // namespace troupe
