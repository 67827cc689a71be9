#include "data/formats/csv/csv_header.hpp"

#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool is_number(const std::string& cell) {
  double ignored = 0;
  return read_number(cell, ignored) != number_status::text;
}

bool is_empty(const std::string& cell) {
  return cell.empty();
}

bool is_count(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos;
}

} // namespace

bool is_header(csv_header header, std::span<const std::string> cells) {
  if (header != csv_header::automatic)
    return header == csv_header::yes;
  return std::ranges::none_of(cells, is_number) && !std::ranges::all_of(cells, is_empty);
}

std::string hidden_header_reason(const std::string& target_cell, const std::string& shown_column) {
  return shown_text(target_cell) + " in " + shown_column +
         ", the target, stands above numbers: row 1 looks like a header some of whose names are "
         "numbers";
}

bool counts_rows(std::span<const std::string> cells) {
  constexpr size_t cell_count_min = 4; // two classes
  return cells.size() >= cell_count_min && is_count(cells[0]) && is_count(cells[1]) &&
         std::ranges::none_of(cells.subspan(2), is_number) &&
         std::ranges::none_of(cells.subspan(2), is_empty);
}

} // namespace troupe
