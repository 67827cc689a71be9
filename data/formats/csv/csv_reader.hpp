// Reads a CSV file part by part (row_reader.hpp). The format, and what is an error, are those of
// csv.hpp. One part and one record are in memory at a time.

#pragma once

#include "troupe/data/formats/csv/csv.hpp"
#include "troupe/data/formats/csv/csv_records.hpp"
#include "troupe/data/table/row_reader.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

class csv_reader : public row_reader {
public:
  /// Opens the file and reads its first record. Throws failure as read_csv does.
  csv_reader(const std::string& file, csv_header header);

  [[noreturn]] void fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                   const std::string& hint) const override;

protected:
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  bool next_record();
  std::vector<std::string> column_names_of(const std::vector<std::string>& cells,
                                           bool has_header) const;
  void read_row(table_chunk& out);
  void read_feature(const csv_cell& cell, size_t column, float& out) const;
  void read_target(const csv_cell& cell, size_t column, std::string& out) const;
  void check_first_row(const table_chunk& rows) const;
  std::string shown_column(size_t column) const;

  csv_records records_;
  csv_record record_;
  bool row_waits_ = false;       ///< record_ is a row that was not given out
  bool any_row_ = false;         ///< one was
  bool may_hide_header_ = false; ///< row 1 was taken for data, and nobody said so
  bool counts_rows_ = false;     ///< what row 1 looks like (csv_header.hpp)
};

} // namespace troupe
