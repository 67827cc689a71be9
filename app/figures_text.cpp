#include "troupe/app/figures_text.hpp"

#include "troupe/app/output.hpp"
#include "troupe/data/summary_file.hpp"

#include <algorithm>
#include <cstdio>

namespace troupe {

namespace {

// Characters, not bytes: class names may hold any letter.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
    text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

void print_failure_object(const failure& error) {
  try {
    print_result(failure_json(error, {}));
  } catch (const failure&) {
    print_message("troupe: error: standard output: cannot write the result\n");
  }
}

} // namespace

text_table::text_table(std::vector<std::string> titles) {
  if (!titles.empty())
    rows_.push_back(std::move(titles));
}

void text_table::add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string text_table::text() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t j = 0; j < row.size(); ++j)
      widths[j] = std::max(widths[j], width_of(row[j]));
  }
  std::string result;
  for (const auto& row : rows_) {
    for (size_t j = 0; j < row.size(); ++j) {
      const std::string pad(widths[j] - width_of(row[j]), ' ');
      result += j == 0 ? row[j] + pad : "  " + pad + row[j];
    }
    result.erase(result.find_last_not_of(' ') + 1);
    result += '\n';
  }
  return result;
}

std::string figure_text(const nlohmann::ordered_json& value) {
  if (!value.is_number_float())
    return value.is_null() ? "-" : value.dump();
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value.get<double>());
  return text;
}

std::string one_line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

csv_header header_option(const std::string& text) {
  if (text == "auto")
    return csv_header::automatic;
  if (text == "yes" || text == "true")
    return csv_header::yes;
  if (text == "no" || text == "false")
    return csv_header::no;
  throw failure(failure_code::usage, "--header is auto, yes or no, not '" + text + "'");
}

int with_failure_object(bool json, const std::function<int()>& command) {
  try {
    return command();
  } catch (const failure& error) {
    // When the result itself could not be printed, a second attempt would only follow half of it.
    if (json && error.where() != standard_output)
      print_failure_object(error);
    throw;
  } catch (const std::exception& error) {
    const auto unexpected = as_failure(error);
    if (json)
      print_failure_object(unexpected);
    throw unexpected;
  }
}

} // namespace troupe
