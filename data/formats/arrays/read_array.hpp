// Reads binary arrays, IDX or NPY, plain or gzip, into a table or part by part.
//
// The first extent counts rows; the others, multiplied, are the columns (an image of 28 x 28 pixels
// is a row of 784). Labels stand in a second file of as many values as there are rows, or in one
// column of the array. A plain file's size is held against its header before any memory is taken;
// of a compressed one, memory grows with what was read.

#pragma once

#include "data/formats/arrays/array_header.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The elements of a binary array, block by block: as float32 for features, and one by one as a
/// double and as text for targets. A block of the file fits the first cache, and its values go from
/// there straight to where they stay: memory is touched once.
class array_values {
public:
  /// Elements of a block: 64 KiB as float32.
  static constexpr size_t block_size = size_t{1} << 14;

  /// Of the elements at the front of `source`. Both arguments must live on.
  array_values(binary_source& source, const array_header& header)
    : source_(source), header_(header) {}

  /// Appends the next block to `out`, `count` values but at most `block_size`; returns how many.
  ///
  /// Throws failure(bad_data), naming the byte, for an element that is not finite or does not fit a
  /// float32, and when the file ends early; what text_source throws.
  size_t append(uint64_t count, std::vector<float>& out);

  /// Element `i` of the last block.
  double number(size_t i) const;

  /// The same in decimal: the shortest text that is the element.
  std::string text(size_t i) const;

private:
  [[noreturn]] void refuse(std::span<const float> values) const;

  binary_source& source_;
  const array_header& header_;
  uint64_t block_offset_ = 0; ///< of the last block in the file
  std::vector<char> bytes_;   ///< the last block as it stands in the file
};

/// The rows of an array, one block after the other: what both readers have in common.
class array_rows {
public:
  /// Opens the file and reads its header; which of the two formats it has is seen from its first
  /// bytes. Throws failure(bad_data), naming the byte, for an array without rows or columns, with
  /// rows of more than `columns_max` values, or of another length than the file; what the headers'
  /// readers and binary_source throw.
  array_rows(const std::string& path, size_t columns_max);

  array_rows(const array_rows&) = delete;
  array_rows& operator=(const array_rows&) = delete;

  const std::string& path() const noexcept { return source_.path(); }
  const array_header& header() const noexcept { return header_; }
  uint64_t row_count() const noexcept { return row_count_; }
  uint64_t column_count() const noexcept { return column_count_; }

  /// Whether the file is known to be as long as the header promises.
  bool size_known() const noexcept { return size_known_; }

  /// Which columns are targets, in the order their cells are wanted. Before the first row.
  void set_targets(const std::vector<size_t>& columns);

  /// Shows it the first elements of wide types, targets too. It must live on.
  void watch_digits(lost_digits& digits) { digits_ = &digits; }

  /// Appends features and targets of the next `count` rows, at most as many as are left. After the last row
  /// nothing may follow in the file. Throws what array_values throws.
  void read(uint64_t count, table_chunk& out);

  /// Throws failure(bad_data) for what was read last: the header, at first.
  [[noreturn]] void fail(const std::string& reason, std::string hint) const;

  /// Throws failure(bad_data) for a value.
  [[noreturn]] void fail_at(uint64_t row, uint64_t column, const std::string& reason,
                            std::string hint) const;

private:
  struct target {
    uint64_t column;
    size_t slot; ///< its place among the targets
    friend auto operator<=>(const target&, const target&) = default;
  };

  void find_shape(size_t columns_max);
  size_t append(uint64_t count, std::vector<float>& out);
  void read_mixed(uint64_t count, table_chunk& out);
  void split_block(size_t count, table_chunk& out);
  void keep_target(size_t i, table_chunk& out);

  binary_source source_;
  array_header header_;
  uint64_t row_count_ = 0;
  uint64_t column_count_ = 1;
  bool size_known_ = false;
  uint64_t values_offset_ = 0; ///< of the first value in the file
  array_values values_;
  uint64_t rows_left_ = 0;
  lost_digits* digits_ = nullptr; ///< null: nobody asks
  uint64_t watched_ = 0;          ///< elements it has seen
  std::vector<target> targets_;   ///< by rising column
  uint64_t column_ = 0;           ///< of the next value
  size_t next_target_ = 0;        ///< at or behind that column; all passed: targets_.size()
  std::vector<float> block_;      ///< values of which some are targets
};

/// Throws failure(bad_data) unless `labels` has a row for each of `rows`, of `columns` values.
void require_labels_fit(const array_rows& labels, const array_rows& rows, size_t columns);

/// The header's shape in words: "60000 x 28 x 28".
std::string shown_shape(const array_header& header);

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
};

} // namespace troupe
