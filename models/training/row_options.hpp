// How the rows of a file are read and split: what a job says of them, and what readers (data/formats) and
// the preparation of rows (data/training_rows) take.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// by_name: from the file's name, else its content.
enum class file_format : uint8_t { by_name, csv, libsvm, idx, npy, rows, text };

/// What row 1 of a CSV file is.
enum class csv_header : uint8_t {
  automatic, ///< a header if none of its cells is a number and not all are empty
  yes,
  no,
};

/// What rows of a libsvm file become. By content they become dense where there are few features, at most
/// `dense_features_always`, or where at least a quarter of the values are there, and if the table is not
/// too large to be made so: a function of the file alone (data/formats/libsvm).
enum class row_form : uint8_t { by_content, dense, sparse };

/// What becomes of cells without a value: an error, the mean of the training rows, or their row is dropped.
enum class missing_rule : uint8_t { error, mean, drop };

/// What the cells of a column are (data/table/column_plan.hpp).
enum class column_kind : uint8_t { number, category, boolean, date, datetime, amount };

/// Which part comes first in dates that do not begin with a year of four digits: those are always read.
enum class date_form : uint8_t { year_first, day_first, month_first };

template <>
struct name_table<file_format> {
  static constexpr std::array entries{
    named(file_format::by_name, "auto"),  named(file_format::csv, "csv"),
    named(file_format::libsvm, "libsvm"), named(file_format::idx, "idx"),
    named(file_format::npy, "npy"),       named(file_format::rows, "rows"),
    named(file_format::text, "text")};
};
template <>
struct name_table<csv_header> {
  static constexpr std::array entries{named(csv_header::automatic, "auto"),
                                      named(csv_header::yes, "yes"), named(csv_header::no, "no")};
};
/// The answers to "dense?".
template <>
struct name_table<row_form> {
  static constexpr std::array entries{named(row_form::by_content, "auto"),
                                      named(row_form::dense, "yes"), named(row_form::sparse, "no")};
};
template <>
struct name_table<missing_rule> {
  static constexpr std::array entries{named(missing_rule::error, "error"),
                                      named(missing_rule::mean, "mean"),
                                      named(missing_rule::drop, "drop")};
};
template <>
struct name_table<column_kind> {
  static constexpr std::array entries{
    named(column_kind::number, "number"),     named(column_kind::category, "category"),
    named(column_kind::boolean, "boolean"),   named(column_kind::date, "date"),
    named(column_kind::datetime, "datetime"), named(column_kind::amount, "amount")};
};
template <>
struct name_table<date_form> {
  static constexpr std::array entries{named(date_form::year_first, "year-first"),
                                      named(date_form::day_first, "day-first"),
                                      named(date_form::month_first, "month-first")};
};

/// Which columns of a file are what: each by its name or 0-based index. All but the target is for csv.
/// Columns that are not named are features, and their cells numbers.
struct column_options {
  csv_header header = csv_header::automatic;
  /// "last" (always the last column), or a column. Digits that are a column's name mean that column.
  std::string target = "last";
  std::vector<std::string> ignore{};      ///< columns that are no features
  std::vector<std::string> categorical{}; ///< a feature for each value that occurs
  std::vector<std::string> boolean{};     ///< true or false, yes or no, 1 or 0
  std::vector<std::string> date{};        ///< days, month and weekday
  std::vector<std::string> datetime{};    ///< and hour
  std::vector<std::string> amount{}; ///< numbers with thousands and signs; the target may be one
  date_form date_order = date_form::year_first;
  size_t categories_max = 1000; ///< features that all categories make, >= 1
  missing_rule missing = missing_rule::error;
  std::vector<std::string> missing_cells{""}; ///< texts of cells without a value
  bool missing_indicator = false;             ///< mean: a feature that says where cells are missing
  std::string weight{};   ///< column of what each row counts in the loss, no feature; empty: none
  std::string split_by{}; ///< column of groups that stay in one part, no feature; empty: none

  /// Whether some cells are not the numbers that they are without these keys.
  bool has_plan() const;

  friend bool operator==(const column_options&, const column_options&) = default;
};

/// Columns whose cells are no plain numbers, by what they are, and the key in section `data` that names them.
struct column_reading {
  column_kind kind;
  const char* key;
  std::vector<std::string> column_options::*columns;
};

inline constexpr std::array column_readings{
  column_reading{column_kind::category, "data.categorical", &column_options::categorical},
  column_reading{column_kind::boolean, "data.boolean", &column_options::boolean},
  column_reading{column_kind::date, "data.date", &column_options::date},
  column_reading{column_kind::datetime, "data.datetime", &column_options::datetime},
  column_reading{column_kind::amount, "data.amount", &column_options::amount}};

/// The first of these keys that names columns, or null.
inline const char* key_of_readings(const column_options& x) {
  for (const auto& reading : column_readings)
    if (!(x.*reading.columns).empty())
      return reading.key;
  return nullptr;
}

inline bool column_options::has_plan() const {
  return key_of_readings(*this) != nullptr || missing != missing_rule::error;
}

/// text: how rows are cut from it.
struct window_options {
  size_t window = 32; ///< characters that a row has, >= 1; the next one is its class
  size_t stride = 1;  ///< characters from one row to the next, >= 1

  friend bool operator==(const window_options&, const window_options&) = default;
};

/// Rows that are made by a rule (data/training_rows/synthetic.hpp).
struct synthetic_options {
  size_t rows = 1000;   ///< N >= 1
  size_t features = 10; ///< F >= 1
  size_t classes = 2;   ///< classification: >= 2
  size_t targets = 1;   ///< regression: outputs, T >= 1
  double noise = 0.1;   ///< deviation of the noise, >= 0

  friend bool operator==(const synthetic_options&, const synthetic_options&) = default;
};

/// Rows of a holding: of rows that stay together, wherever they are trained on.
struct holding_size {
  size_t train = 0;      ///< >= 1
  size_t test = 0;       ///< drawn from the holding's own
  size_t validation = 0; ///< likewise

  friend bool operator==(const holding_size&, const holding_size&) = default;
  friend holding_size operator+(const holding_size& a, const holding_size& b) {
    return {a.train + b.train, a.test + b.test, a.validation + b.validation};
  }
};

/// Which rows are for testing and for validation.
struct part_options {
  double test_fraction = 0;         ///< rows kept for testing, [0, 1)
  double validation_fraction = 0;   ///< rows kept for validation, [0, 1), beside those for testing
  bool stratify = false;            ///< classes keep their shares in both
  std::optional<size_t> folds = {}; ///< >= 2: validation rows are one of so many parts ..
  std::optional<size_t> fold = {};  ///< .. this one, from 0; both or none are there

  friend bool operator==(const part_options&, const part_options&) = default;
};

} // namespace troupe
