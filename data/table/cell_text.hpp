// What single cells say that are no plain numbers, as people write them: true or false, dates, amounts.

#pragma once

#include "models/training/row_options.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// 1 for true, yes, t, y or 1, 0 for false, no, f, n or 0, in capitals or not. False: it is none of them.
bool read_boolean(std::string_view text, float& out);

/// Days from 2000-01-01 to a date such as "2024-02-29", "2024/2/29" or "2024.02.29", and by the other orders also
/// "29.2.2024" or "2/29/2024", with a time behind it, of which nothing is used. False: it is none.
bool read_date(std::string_view text, date_form order, float& days);

/// What `read_datetime` counts.
inline constexpr float quarters_of_day = 96;

/// Quarters of an hour, rounded down, from 2000-01-01 00:00 to a date as above with a time behind a blank or "T":
/// "9:05", "13:05:59.5", "1:05 PM", "13:05Z", "13:05+02:00". Without one it is midnight. The time is the one that is
/// written, whatever its zone. False: it is none, or not in the years 1600 to 2399, of which a float has each quarter.
bool read_datetime(std::string_view text, date_form order, float& quarters);

/// Whether a year of a date has two digits, such as "29/09/21": nobody knows the century.
bool has_short_year(std::string_view text);

/// A number as people write it: a sign or parentheses, marks between thousands, a unit before or behind.
struct amount {
  double value = 0;        ///< what stands there: 12% is 12
  std::string_view unit{}; ///< a percent or currency sign, or three capitals; empty: none
};

/// "1,234.5", "1 234", "1'234", "-$12", "($12)", "EUR 12", "12 €", "12%" and all that `read_number` reads. The decimal
/// mark is a point; all groups behind the first have three digits. Nothing for other texts.
std::optional<amount> read_amount(std::string_view text);

/// Which units may stand in one column. Amounts without a unit may stand beside those of a currency, not beside
/// percentages: 0.12 beside 12% may be either.
struct unit_rule {
  std::string unit{};    ///< of the amounts so far
  bool has_bare = false; ///< some had none

  /// Whether an amount with this unit may follow.
  bool takes(std::string_view next);
};

/// The text of an amount with a decimal comma, as it is with a point: "1.234,5" as "1,234.5".
std::string with_marks_swapped(std::string_view text);

} // namespace troupe
