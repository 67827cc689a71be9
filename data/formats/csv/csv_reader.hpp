// Reads a CSV file part by part (row_reader.hpp). The format, and what is an error, are those of
// csv.hpp, whose reader of whole files puts together what this one reads. One part and one record
// are in memory at a time.

#pragma once

#include "data/formats/csv/csv_options.hpp"
#include "data/formats/csv/csv_records.hpp"
#include "data/table/row_reader.hpp"
#include "data/text/number_text.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Rows that were read at once, and the text they took.
struct csv_block {
  size_t row_count = 0;
  size_t text_bytes = 0;

  explicit operator bool() const noexcept { return row_count > 0; }
};

class csv_reader : public row_reader {
public:
  /// Opens the file and reads its first record. Throws failure as read_csv does.
  csv_reader(const std::string& file, csv_header header, const csv_dialect& dialect = {});

  /// The same for a file that has a target, which this does not choose, and a feature.
  csv_reader(const std::string& file, const csv_options& options);

  /// Features are what this makes of their cells (N x S), not numbers as they stand; a row that its plan drops is
  /// passed over. After the features are chosen, S of them in the order of its plan; before `next`.
  void code_cells(std::shared_ptr<cell_coder> coder) { coder_ = std::move(coder); }

  /// Has this look at the first numbers. After the features are chosen; before `next`.
  void watch_digits(std::shared_ptr<lost_digits> digits) { digits_ = std::move(digits); }

  /// "3 rows without a value in some cell are left out, the first in line 7", or nothing.
  std::string dropped_remark() const;

  /// Gives each cell of the next row, as it stands there, to `use`, with its column; false at the end. For those who
  /// look at what columns hold, in place of `append`. Throws failure as read_csv does, but for what stands in a cell.
  bool look_at_row(const std::function<void(size_t, std::string_view)>& use);

  /// Appends up to `rows_max` (>= 1) rows, those that are at hand, to each of the vectors of `out`,
  /// whatever they hold: at least one row unless the file is at its end. Throws failure as read_csv
  /// does.
  csv_block append(table_chunk& out, size_t rows_max);

  /// Throws failure(bad_data) when there are no rows in all that was read, or row 1 was not called a header and may
  /// be a row as well: each of its cells stands in its column once more.
  void require_rows(const table_chunk& rows) const;

  /// Throws failure(bad_data) for the first cell of a target, of the line `line`, that is the only
  /// one that is text.
  [[noreturn]] void refuse_hidden_header(const table_chunk& rows, size_t slot, size_t line) const;

  /// Bytes of the whole text, as far as can be told.
  uint64_t expected_size() const noexcept { return records_.expected_size(); }

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  csv_reader(const std::string& file, const csv_options& options, bool needs_target);
  bool next_record();
  std::vector<std::string> cells_of_first_record() const;
  std::vector<std::string> column_names_of(const std::vector<std::string>& cells,
                                           bool has_header) const;
  void check_names(const std::vector<std::string>& names) const;

  void check_first_rows(const table_chunk& rows) const;
  bool takes_plain_rows() const;
  csv_block append_plain_rows(table_chunk& out, size_t rows_max);
  bool append_row(table_chunk& out);
  bool read_feature(const csv_cell& cell, size_t column, float& out) const;
  bool holds_amounts(size_t column) const;
  std::string_view with_point(const csv_cell& cell) const;
  bool drops(const csv_cell& cell, size_t column) const;
  bool is_weight(size_t column) const {
    return !options_.weight.empty() && find_column(options_.weight) == column;
  }
  double read_target(const csv_cell& cell, size_t column) const;

  [[noreturn]] void refuse_single_column() const;
  [[noreturn]] void refuse_cell(const csv_cell& cell, size_t column, number_status status) const;
  [[noreturn]] void refuse_coded(const csv_cell& cell, size_t column, cell_status status) const;
  [[noreturn]] void refuse_missing(const csv_cell& cell, size_t column) const;
  [[noreturn]] void refuse_long_row(const csv_cell& surplus) const;
  [[noreturn]] void refuse_short_row(size_t cell_count) const;
  std::string shown_column(size_t column) const;

  csv_options options_;
  bool needs_target_;
  csv_records records_;
  csv_record record_;
  std::shared_ptr<cell_coder> coder_;   ///< null: cells are numbers
  std::shared_ptr<lost_digits> digits_; ///< null: nobody asks
  mutable std::string pointed_;         ///< what `with_point` gave last
  std::vector<bool> name_is_below_;     ///< of each column: its name is one of its cells too
  uint64_t dropped_count_ = 0;
  size_t first_dropped_line_ = 0;
  size_t rows_not_tried_ = 0;    ///< the short way: they follow one that was not plain
  bool row_waits_ = false;       ///< record_ is a row that was not given out
  bool first_rows_wait_ = true;  ///< nobody has checked them
  bool may_hide_header_ = false; ///< row 1 was taken for data, and nobody said so
  bool counts_rows_ = false;     ///< what row 1 looks like
};

} // namespace troupe
