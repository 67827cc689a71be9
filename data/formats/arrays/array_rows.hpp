// The rows of a binary array, IDX or NPY, one block after the other: what the two readers of
// read_array.hpp (which says what the formats are) have in common.

#pragma once

#include "data/formats/arrays/array_header.hpp"
#include "data/formats/arrays/array_values.hpp"
#include "data/source/binary_source.hpp"
#include "data/table/lost_digits.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Target cells, N x T, as text and as numbers.
struct array_targets {
  std::vector<std::string> cells;
  std::vector<double> numbers;

  void clear();
};

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

  /// Appends the next `count` rows, at most as many as are left: features (N x F) and targets.
  /// After the last row nothing may follow in the file. Throws what array_values throws.
  void read(uint64_t count, std::vector<float>& features, array_targets& targets);

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
  void read_mixed(uint64_t count, std::vector<float>& features, array_targets& targets);
  void split_block(size_t count, std::vector<float>& features, array_targets& targets);
  void keep_target(size_t i, array_targets& targets);

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

} // namespace troupe
