// What the columns of a CSV file hold: for people who begin with a file, and for `troupe init`.

#pragma once

#include "data/formats/csv/csv_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

struct csv_column {
  static constexpr size_t values_kept_max = 100;

  std::string name;           ///< its index, from 0, where the file names none
  uint64_t empty_count = 0;   ///< cells without a value: no text, or one of missing_words
  uint64_t number_count = 0;  ///< finite ones that fit a float
  uint64_t text_count = 0;    ///< everything else, of which the next are some
  bool is_whole = true;       ///< each number is
  bool counts = true;         ///< each number is one more than that of the row before
  uint64_t boolean_count = 0; ///< true, yes, t, y and their opposites: no numbers
  std::array<uint64_t, 3> date_counts{};     ///< as read_date has them, by date_form
  std::array<uint64_t, 3> datetime_counts{}; ///< as read_datetime has them, by date_form
  uint64_t time_count = 0;                   ///< of these, with a time that is not midnight
  uint64_t amount_count = 0;      ///< as read_amount has them; 0: in units that are no one column's
  std::string first_amount;       ///< of these
  bool has_leading_zeros = false; ///< some whole number begins with one, as codes do
  std::string first_text;         ///< of the cells that are text
  std::map<std::string, uint64_t> missing_words; ///< texts of cells without a value, such as NA
  std::map<std::string, uint64_t> values; ///< and how often they occur; values_kept_max + 1 at most

  bool has_many_values() const { return values.size() > values_kept_max; }

  /// Whether all of its cells that have a value are dates by this order, with times or without.
  bool has_dates(date_form order) const { return is_text(date_counts[static_cast<size_t>(order)]); }
  bool has_times(date_form order) const {
    return time_count > 0 && is_text(datetime_counts[static_cast<size_t>(order)]);
  }
  bool has_booleans() const { return is_text(boolean_count); }
  /// Whether they are numbers, some with thousands or units.
  bool has_amounts() const { return amount_count > 0 && amount_count == text_count; }

private:
  bool is_text(uint64_t count) const {
    return text_count > 0 && count == text_count && number_count == 0;
  }
};

/// Texts that people write where there is no value. Others without digits count as such too, in a column whose other
/// cells are numbers, amounts or dates, and more than they: at most `other_words_max` texts, of which each is no more
/// than a mark or says so ("-", "unknown"), or any in a column with more values than there are classes.
inline constexpr std::array missing_words{"NA", "N/A", "NaN", "nan", "null", "NULL", "?"};

inline constexpr size_t other_words_max = 3;

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
