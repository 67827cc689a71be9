#include "data/text/text_table.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
    text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

} // namespace

text_table::text_table(size_t left_columns, std::vector<std::string> titles)
  : left_columns_(left_columns) {
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
      result += (j == 0 ? "" : "  ") + (j < left_columns_ ? row[j] + pad : pad + row[j]);
    }
    result.erase(result.find_last_not_of(' ') + 1);
    result += '\n';
  }
  return result;
}

} // namespace troupe
