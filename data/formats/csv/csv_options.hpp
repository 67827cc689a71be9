// What the readers of CSV files are told (csv.hpp says what the format is).

#pragma once

#include "data/table/cell_coder.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// The first row of a CSV file: names of columns, a row like the others, or something that only
// looks like either.

/// Whether row 1 names the columns. `automatic`: when none of its cells is a number and not all are
/// empty.
bool is_header(csv_header header, std::span<const std::string> cells);

/// Counts targets that are text, to find a header that was taken for a row because some of its
/// names are numbers: `0,1,label` above rows of numbers, as pandas writes it.
class hidden_header {
public:
  /// `row` is counted from 0. Later rows may be left out once `is_excluded`.
  void on_target(size_t row, bool is_text) {
    ++(is_text ? text_count_ : number_count_);
    first_is_text_ = row == 0 ? is_text : first_is_text_;
  }
  /// No further target can make row 1 the only one that is text.
  bool is_excluded() const { return number_count_ + text_count_ > 0 && !is_likely_so_far(); }
  /// Row 1 has the only target that is text, and others have numbers.
  bool is_likely() const { return is_likely_so_far() && number_count_ > 0; }

private:
  bool is_likely_so_far() const { return first_is_text_ && text_count_ == 1; }

  bool first_is_text_ = false;
  size_t text_count_ = 0;
  size_t number_count_ = 0;
};

/// What to say of a hidden header, and what to do about it.
std::string hidden_header_reason(const std::string& target_cell, const std::string& shown_column);
inline constexpr const char* hidden_header_hint =
  "if row 1 is a header, say so: data.header = true (--header yes); if it is a row: false (no)";

/// What to do about text in row 1 that should be a number: most often it is a header that was not
/// seen as one.
inline constexpr const char* header_hint =
  "if row 1 is a header, say so: data.header = true (--header yes)";

/// Row 1 of the files that scikit-learn brings with it: rows, features, then a name for each class.
bool counts_rows(std::span<const std::string> cells);
inline constexpr const char* counts_rows_hint =
  "row 1 seems to count rows and features and to name the classes, as in scikit-learn's own files: "
  "remove it (tail -n +2) and set data.header = false (--header no)";

/// How the cells of a CSV file are written, where it is not as RFC 4180 has it.
struct csv_dialect {
  char separator = ',';
  char quote = '"';
  char decimal = '.';    ///< or ','
  char comment = '\0';   ///< a line that begins with it is none; 0: there are no such lines
  size_t skip_lines = 0; ///< above row 1, whatever is in them

  friend bool operator==(const csv_dialect&, const csv_dialect&) = default;
};

/// What keeps the parts of such a text apart; empty: nothing is wrong.
std::string problem_of(const csv_dialect& x);

/// As a JSON object, for a model's file; of the usual dialect nothing.
std::string text_of(const csv_dialect& x);

/// Nothing for a text that is none, or tells of a dialect with a problem.
std::optional<csv_dialect> dialect_of(const std::string& text);

struct csv_options : column_options {
  std::string client = {}; ///< column that says whose a row is and is no feature; empty: none
  column_plan plan = {};   ///< of other rows of the kind, in place of one that is made; none: empty
  csv_dialect dialect = {};
  size_t line_bytes_max = size_t{16} << 20; ///< of one record, line breaks in quotes included
  size_t columns_max = 1'000'000;
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (memory_room.hpp)
  /// Names of all features, in their order; none: those that the file has, as they stand.
  std::vector<std::string> features = {};
};

} // namespace troupe
