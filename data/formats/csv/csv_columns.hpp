// What the columns of a CSV file hold: for people who begin with a file, and for `troupe init`.

#pragma once

#include "data/formats/csv/csv_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace troupe {

struct csv_column {
  static constexpr size_t values_kept_max = 100;

  std::string name;                    ///< its index, from 0, where the file names none
  uint64_t empty_count = 0;            ///< cells without a value: no text, or one of missing_words
  uint64_t number_count = 0;           ///< finite ones that fit a float
  uint64_t text_count = 0;             ///< everything else
  bool is_whole = true;                ///< each number is
  bool counts = true;                  ///< each number is one more than that of the row before
  uint64_t boolean_count = 0;          ///< true, yes, t, y and their opposites: no numbers
  uint64_t date_count = 0;             ///< as read_date has them
  bool has_leading_zeros = false;      ///< some whole number begins with one, as codes do
  std::string first_text;              ///< of the cells that are text
  std::set<std::string> missing_words; ///< texts of cells without a value, such as NA
  std::set<std::string> values;        ///< those that occur, at most values_kept_max + 1 of them

  bool has_many_values() const { return values.size() > values_kept_max; }
};

/// Texts that people write where there is no value.
inline constexpr std::array missing_words{"NA", "N/A", "NaN", "nan", "null", "NULL", "?"};

struct csv_facts {
  csv_dialect dialect; ///< that the file was read by
  bool has_header = false;
  bool is_whole = true; ///< false: only the first rows were looked at
  uint64_t row_count = 0;
  std::vector<csv_column> columns;
};

/// How a file's cells seem to be written, by its first lines: the separator of commas, semicolons, tabs and bars that
/// all of them have equally often; a decimal comma where another letter separates and a number has one. Throws as
/// facts_of_csv does.
csv_dialect dialect_by_content(const std::string& path);

/// Looks at `rows_max` rows at most. Throws failure as read_csv does for a file that is none, but for
/// cells of whatever content.
csv_facts facts_of_csv(const std::string& path, csv_header header, uint64_t rows_max,
                       const csv_dialect& dialect = {});

} // namespace troupe
