// Reads a binary array, IDX or NPY, plain or gzip, part by part (row_reader.hpp). The formats, and
// what is an error, are those of read_array.hpp. Columns are called by their index. Targets are
// columns, or stand in a second file.

#pragma once

#include "troupe/data/formats/arrays/array_rows.hpp"
#include "troupe/data/table/row_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

class array_reader : public row_reader {
public:
  /// Opens the file. Throws what array_rows throws.
  array_reader(const std::string& path, size_t columns_max);

  /// Takes the targets from another file, of as many rows and `target_count` columns; every column
  /// of the first is then a feature. Instead of `set_targets`. Throws failure(bad_data) for another
  /// shape; what array_rows throws.
  void set_labels(const std::string& path, size_t target_count);

  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  array_rows rows_;
  std::optional<array_rows> labels_;
  uint64_t rows_given_ = 0;
  array_targets targets_;          ///< of one part; kept for its memory
  std::vector<float> no_features_; ///< of the labels
};

} // namespace troupe
