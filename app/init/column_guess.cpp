#include "app/init/column_guess.hpp"

#include "data/table/cell_text.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cctype>

namespace troupe {

namespace {

/// Text of so few values, or of one in so many rows, is taken for categories.
constexpr uint64_t rows_of_category_min = 2;

bool has_categories(const csv_column& x) {
  return !x.has_many_values() &&
         x.number_count + x.text_count >= rows_of_category_min * x.values.size();
}

date_form other_than(date_form order) {
  return order == date_form::day_first ? date_form::month_first : date_form::day_first;
}

column_guess lost(std::string reason, std::string advice = {}) {
  return {std::nullopt, std::move(reason), true, std::move(advice)};
}

column_guess dates_of(const csv_column& x, date_form form) {
  const bool has_times = x.has_times(form);
  std::string reason = has_times ? "dates with times in all cells" : "dates in all cells";
  if (form != date_form::year_first)
    reason += ", " + std::string{name_of(form)};
  const bool is_sure = form == date_form::year_first || !x.has_dates(other_than(form));
  reason += is_sure ? ", for certain" : ", as you say or other columns tell";
  return {has_times ? column_kind::datetime : column_kind::date, std::move(reason)};
}

/// Of dates that do not begin with the year, and are not by `order`.
column_guess lost_dates(const csv_column& x, std::optional<date_form> order) {
  const auto dates = "its dates, such as " + shown_text(x.first_text) + ", ";
  if (order)
    return lost(dates + "are not " + std::string{name_of(*order)} +
                  " as you say or those of other columns are",
                "write them year first, as in 2024-02-29");
  const auto* key = x.has_times(date_form::day_first) ? "datetime" : "date";
  return lost(dates + "may all be day first or month first",
              "say which by troupe init --date-order day-first or month-first, or take it out of "
              "ignore and set " +
                std::string{key} + " = [\"" + x.name +
                "\"] and date_order = \"day-first\" or \"month-first\"");
}

column_guess lost_texts(const csv_column& x, uint64_t rows) {
  const auto reason =
    shares(x.text_count, rows) + " cells are no numbers, such as " + shown_text(x.first_text);
  if (has_short_year(x.first_text))
    return lost(reason, "write years with four digits: nobody can tell 1921 from 2021 by its last "
                        "two");
  if (x.number_count > x.text_count)
    return lost(reason, "write numbers there, or nothing where there is no value");
  return lost(reason);
}

} // namespace

std::string shares(uint64_t part, uint64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

std::string listed_values(const csv_column& x) {
  std::string result;
  size_t count = 0;
  for (const auto& [value, cells] : x.values) {
    if (++count > 5)
      return result + ", ..";
    result += (count == 1 ? "" : ", ") + shown_text(value);
  }
  return result;
}

std::string amounts_reason(const csv_column& x) {
  return "amounts such as " + shown_text(x.first_amount) + ", likely";
}

std::optional<date_form> guess_date_order(const csv_facts& facts, std::optional<date_form> wanted) {
  for (const auto& x : facts.columns)
    for (const auto order : {date_form::day_first, date_form::month_first})
      if (!wanted && x.has_dates(order) && !x.has_dates(other_than(order)))
        return order;
  return wanted;
}

column_guess guess_column(const csv_column& x, uint64_t rows, std::optional<date_form> order) {
  if (2 * x.empty_count > rows)
    return lost(shares(x.empty_count, rows) + " cells are empty");
  if (x.values.size() == 1)
    return {std::nullopt, "all cells are the same"};
  if (x.has_dates(date_form::year_first))
    return dates_of(x, date_form::year_first);
  if (order && x.has_dates(*order))
    return dates_of(x, *order);
  if (x.has_dates(date_form::day_first) || x.has_dates(date_form::month_first))
    return lost_dates(x, order);
  if (x.has_booleans())
    return {column_kind::boolean, "true or false (" + listed_values(x) + "), for certain"};
  if (x.has_amounts())
    return {column_kind::amount, amounts_reason(x)};
  if (x.text_count > 0 && (x.number_count > x.text_count || !has_categories(x)))
    return lost_texts(x, rows);
  if (x.text_count > 0)
    return {column_kind::category, "text of " + std::to_string(x.values.size()) + " values (" +
                                     listed_values(x) + "), likely"};
  if (x.counts && rows > 2)
    return {std::nullopt, "it counts the rows"};
  std::string name = x.name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool is_named_id = name == "id" || name.ends_with("_id") || name.ends_with("id number");
  if (is_named_id && x.is_whole && x.has_many_values())
    return {std::nullopt, "its name says that it is an id"};
  if (x.has_leading_zeros && has_categories(x))
    return {column_kind::category, "numbers that begin with 0, as codes do, of " +
                                     std::to_string(x.values.size()) + " values, likely"};
  return {column_kind::number};
}

} // namespace troupe
