// How the cells of a CSV file are written, where it is not as RFC 4180 has it.

#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace troupe {

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

} // namespace troupe
