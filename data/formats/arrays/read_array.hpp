// Reads binary arrays, IDX or NPY, plain or gzip, into a table or part by part.
//
// The first extent counts rows; the others, multiplied, are the columns (an image of 28 x 28 pixels
// is a row of 784). Labels stand in a second file of as many values as there are rows, or in one
// column of the array. A plain file's size is held against its header before any memory is taken;
// of a compressed one, memory grows with what was read.

#pragma once

#include "data/formats/arrays/array_rows.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct array_options {
  /// The file of the targets, IDX or NPY. Empty: beside a file called *images-idx3* the one called
  /// *labels-idx1*, else the targets are a column of the array.
  std::string labels_file;
  /// "last" or the 0-based index of the target's column, when there is no file of targets.
  std::string target = "last";
  size_t columns_max = size_t{1} << 24;
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (memory_room.hpp)
};

/// The file that holds the labels of images at `path`, by MNIST's custom of names; empty when
/// `path` is not called *images-idx3*.
std::string labels_beside(const std::string& path);

/// Reads the file at `path`; which of the two formats it has is seen from its first bytes.
///
/// Values become the nearest float32. Columns are called by their index. Throws failure: bad_data,
/// naming the file and the offset of the byte, for a value that is not finite or does not fit a
/// float32, for an array without rows or columns, for images without labels, and for labels that
/// are not one a row; what the headers' readers and binary_source throw.
table read_array(const std::string& path, const array_options& options = {});

/// Reads such an array part by part (row_reader.hpp). What is an error is the same. Columns are called by
/// their index. Targets are columns, or stand in a second file.
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
