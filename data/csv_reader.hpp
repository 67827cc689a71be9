// Reads a CSV file part by part: for files that are larger than memory, and where nobody knows
// beforehand which columns are features. The format, and what is an error, are those of csv.hpp.
//
//   csv_reader reader{"rows.csv", csv_header::automatic};
//   reader.set_targets({reader.column_count() - 1});
//   for (table_chunk rows; reader.next(rows, 4096);)
//     use(rows.features, rows.target_cells);
//
// One part and one record are in memory at a time.

#pragma once

#include "troupe/data/csv.hpp"
#include "troupe/data/csv_records.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

/// Rows as they stand in the file. Shapes: N rows, F feature columns, T target columns.
struct table_chunk {
  size_t row_count = 0;                  ///< N
  std::vector<float> features;           ///< N x F, row-major, finite
  std::vector<std::string> target_cells; ///< N x T, trimmed text, never empty
  std::vector<size_t> lines;             ///< N; where each row begins, counted from 1
};

class csv_reader {
public:
  /// Opens the file and reads its first record. Throws failure as read_csv does.
  csv_reader(const std::string& path, csv_header header);

  const std::string& path() const noexcept { return path_; }
  bool has_header() const noexcept { return has_header_; }
  size_t column_count() const noexcept { return names_.size(); }

  /// Every column's name; its 0-based index where the file names none.
  const std::vector<std::string>& column_names() const noexcept { return names_; }

  /// The column that "last", a name or a 0-based index means. Throws failure(bad_data).
  size_t find_column(const std::string& wanted) const;

  /// Which columns are targets, in the order their cells are wanted; none at first. Before `next`.
  /// Throws std::invalid_argument for a column that is not there or comes twice.
  void set_targets(const std::vector<size_t>& columns);

  /// Names of the columns that are no targets, in order.
  std::vector<std::string> feature_names() const;

  /// Reads up to `rows_max` (>= 1) rows; false, with no rows, at the end. Throws failure: bad_data
  /// with where = "path:line:column", and for a file without rows; what text_source throws.
  bool next(table_chunk& out, size_t rows_max);

private:
  static constexpr size_t no_target = static_cast<size_t>(-1);

  bool next_record();
  void name_columns(const std::vector<std::string>& cells);
  void read_row(table_chunk& out);
  void read_feature(const csv_cell& cell, size_t column, table_chunk& out) const;
  void read_target(const csv_cell& cell, size_t column, std::string& out) const;
  std::string shown_column(size_t column) const;

  std::string path_;
  csv_records records_;
  csv_record record_;
  bool has_header_ = false;
  bool row_waits_ = false; ///< record_ is a row that was not given out
  bool any_row_ = false;   ///< one was
  std::vector<std::string> names_;
  std::vector<size_t> target_slot_; ///< for each column its place among the targets, or no_target
  size_t target_count_ = 0;
};

} // namespace troupe
