#include "data/formats/csv/csv_options.hpp"

#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

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

namespace {

using nlohmann::json;

struct dialect_letter {
  const char* key;
  char csv_dialect::*member;
};

constexpr std::array letters{dialect_letter{"separator", &csv_dialect::separator},
                             dialect_letter{"quote", &csv_dialect::quote},
                             dialect_letter{"decimal", &csv_dialect::decimal},
                             dialect_letter{"comment", &csv_dialect::comment}};

bool belongs_to_numbers(char letter) {
  return (letter >= '0' && letter <= '9') || letter == '-' || letter == '+' || letter == 'e' ||
         letter == 'E' || letter == '.';
}

bool is_line_end(char letter) {
  return letter == '\n' || letter == '\r';
}

} // namespace

std::string problem_of(const csv_dialect& x) {
  if (x.decimal != '.' && x.decimal != ',')
    return "the decimal mark is a point or a comma";
  for (const char letter : {x.separator, x.quote, x.comment})
    if (is_line_end(letter) || static_cast<unsigned char>(letter) >= 128)
      return "separator, quotation mark and comment are single letters of ASCII, and no line ends";
  if (belongs_to_numbers(x.separator) || belongs_to_numbers(x.quote) ||
      belongs_to_numbers(x.comment) || x.separator == 0 || x.quote == 0 || x.quote == ' ' ||
      x.quote == '\t')
    return "separator, quotation mark and comment are letters that are no part of a number";
  if (x.separator == x.quote || x.separator == x.decimal || x.separator == x.comment ||
      x.quote == x.decimal || x.quote == x.comment)
    return "separator, quotation mark, decimal mark and comment are letters that differ";
  return {};
}

std::string text_of(const csv_dialect& x) {
  if (x == csv_dialect{})
    return {};
  json object;
  for (const auto& [key, member] : letters)
    if (x.*member != csv_dialect{}.*member)
      object[key] = std::string(1, x.*member);
  if (x.skip_lines > 0)
    object["skip_lines"] = x.skip_lines;
  return object.dump();
}

std::optional<csv_dialect> dialect_of(const std::string& text) {
  const auto object = json::parse(text, nullptr, false);
  if (!object.is_object())
    return std::nullopt;
  csv_dialect result;
  for (const auto& [key, member] : letters)
    if (const auto found = object.find(key); found != object.end()) {
      if (!found->is_string() || found->get<std::string>().size() != 1)
        return std::nullopt;
      result.*member = found->get<std::string>().front();
    }
  if (const auto found = object.find("skip_lines"); found != object.end()) {
    if (!found->is_number_unsigned())
      return std::nullopt;
    result.skip_lines = found->get<size_t>();
  }
  return problem_of(result).empty() ? std::optional{result} : std::nullopt;
}

} // namespace troupe
