// What a column of a CSV file is for a first job (`troupe init`): a guess by its cells, with its reason.

#pragma once

#include "data/formats/csv/csv_columns.hpp"
#include "models/training/row_options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct column_guess {
  std::optional<column_kind> kind; ///< nothing: it is no feature
  std::string reason{};            ///< with how sure it is; empty: plain numbers
  bool is_loss = false;            ///< no feature, though its cells say something
  std::string advice{};            ///< what would make it one; empty: nothing is known
};

/// "3 of 10".
std::string shares(uint64_t part, uint64_t whole);

/// "'a', 'b', ..".
std::string listed_values(const csv_column& x);

/// The order of dates that do not begin with the year: `wanted`, else that of the first column whose dates exclude the
/// other one. Nothing: there is no such column.
std::optional<date_form> guess_date_order(const csv_facts& facts, std::optional<date_form> wanted);

/// For a column of features. `rows`: of the file; `order`: as guess_date_order says.
column_guess guess_column(const csv_column& x, uint64_t rows, std::optional<date_form> order);

/// "amounts such as '$1,200', likely".
std::string amounts_reason(const csv_column& x);

} // namespace troupe
