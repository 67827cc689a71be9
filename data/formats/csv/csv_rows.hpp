// The short way through a CSV file: rows of plain numbers without quotation marks, read in one pass
// over memory, without first looking for their ends. It never complains. A row that is not plain,
// or is wrong, is left to the long way (csv_records, csv_cells), which reads it or says what is
// wrong. Both ways give the same bits.

#pragma once

#include <cstddef>
#include <string_view>

namespace troupe {

struct csv_row_shape {
  size_t column_count;
  size_t target_column;
  size_t line_bytes_max; ///< without its line end
  char separator = ',';
  char quote = '"';
};

struct csv_row_target {
  std::string_view text; ///< points into the row
  double number = 0;     ///< when it is one
  bool is_number = false;
};

/// Reads the row that begins at `at`, where a line end follows somewhere and 16 bytes behind that
/// may be read. Writes column_count - 1 features and the target, and returns where the next row
/// begins.
///
/// Returns nullptr, with anything in the outputs, for a row that is not: column_count cells
/// separated as the shape says, ended by LF or CR LF; each feature a finite number that fits a float32; the
/// target such a number or UTF-8 text; no quotation mark, NUL or other carriage return; no longer
/// than allowed.
const char* read_plain_row(const char* at, const csv_row_shape& shape, float* features,
                           csv_row_target& target);

} // namespace troupe
