#include "data/formats/csv/csv_columns.hpp"

#include "data/formats/csv/csv_reader.hpp"
#include "data/formats/csv/csv_records.hpp"
#include "data/text/failure.hpp"
#include "data/text/number_text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace troupe {

namespace {

/// Of a value's text: more makes no two of them different.
constexpr size_t value_bytes_kept = 200;

/// A column and the number that it had last.
struct seen_column {
  csv_column facts;
  std::optional<double> before{};

  void add(const csv_cell& cell) {
    const bool is_word = std::ranges::find(missing_words, cell.text) != missing_words.end();
    if (cell.text.empty() || is_word) {
      ++facts.empty_count;
      if (is_word)
        facts.missing_words.emplace(cell.text);
      return;
    }
    if (!facts.has_many_values())
      facts.values.emplace(cell.text.substr(0, value_bytes_kept));
    float number = 0;
    if (read_number(cell.text, number) != number_status::number) {
      if (facts.text_count++ == 0)
        facts.first_text = cell.text.substr(0, value_bytes_kept);
      facts.boolean_count += read_boolean(cell.text, number);
      facts.date_count += read_date(cell.text, number);
      return;
    }
    ++facts.number_count;
    facts.has_leading_zeros =
      facts.has_leading_zeros ||
      (cell.text.size() > 1 && cell.text.find_first_not_of("0123456789") == cell.text.npos &&
       cell.text.front() == '0');
    double exact = number;
    read_number(cell.text, exact);
    facts.is_whole = facts.is_whole && exact == std::floor(exact);
    facts.counts = facts.counts && (!before || exact == *before + 1);
    before = exact;
  }
};

std::vector<std::string> cells_of(const csv_records& records, const csv_record& record) {
  std::vector<std::string> result;
  csv_cells cells{records, record};
  for (csv_cell cell; cells.next(cell);)
    result.emplace_back(cell.text);
  return result;
}

bool has_decimal_comma(std::string_view cell) {
  std::string text{cell};
  double ignored = 0;
  std::ranges::replace(text, ',', '.');
  return text != cell && cell.find('.') == cell.npos &&
         read_number(text, ignored) == number_status::number;
}

void add_row(const csv_records& records, const csv_record& row, std::vector<seen_column>& columns) {
  csv_cells cells{records, row};
  size_t count = 0;
  std::string pointed;
  for (csv_cell cell; cells.next(cell); ++count) {
    if (records.dialect().decimal == ',' && has_decimal_comma(cell.text)) {
      pointed = cell.text;
      std::ranges::replace(pointed, ',', '.');
      cell.text = pointed;
    }
    if (count < columns.size())
      columns[count].add(cell);
  }
  if (count != columns.size())
    records.fail_at(row, 0,
                    "the row has " + std::to_string(count) + " cells, row 1 has " +
                      std::to_string(columns.size()),
                    "give every row as many cells as the first; put a cell that holds a comma in "
                    "quotation marks");
}

/// What the first lines are by a dialect.
struct first_lines {
  size_t cell_count = 0; ///< of each of them; 0: they differ, or are no CSV by it
  bool has_decimal_comma = false;
};

first_lines first_lines_by(const csv_dialect& dialect, const std::string& path) {
  constexpr size_t lines_max = 100;
  first_lines result;
  csv_records records{path, csv_options{}.line_bytes_max, quote_rule::csv, dialect};
  csv_record record;
  try {
    for (size_t line = 0; line < lines_max && records.next(record); ++line) {
      if (record.text.empty())
        continue;
      const auto cells = cells_of(records, record);
      if (line > 0 && cells.size() != result.cell_count)
        return {};
      result.cell_count = cells.size();
      result.has_decimal_comma =
        result.has_decimal_comma || std::ranges::any_of(cells, has_decimal_comma);
    }
  } catch (
    const failure&) { // a quotation mark within a cell, say, which other separators may not see
    return {};
  }
  return result;
}

} // namespace

csv_dialect dialect_by_content(const std::string& path) {
  csv_dialect result;
  size_t most = 1;
  for (const char separator : {',', ';', '\t', '|'}) {
    csv_dialect tried;
    tried.separator = separator;
    const auto found = first_lines_by(tried, path);
    if (found.cell_count <= most)
      continue;
    most = found.cell_count;
    result = tried;
    if (separator != ',' && found.has_decimal_comma)
      result.decimal = ',';
  }
  return result;
}

csv_facts facts_of_csv(const std::string& path, csv_header header, uint64_t rows_max,
                       const csv_dialect& dialect) {
  const csv_reader front{path, header, dialect};
  csv_records records{path, csv_options{}.line_bytes_max, quote_rule::csv, dialect};
  csv_record record;
  records.next(record);
  csv_facts result;
  result.dialect = dialect;
  result.has_header = front.has_header();
  std::vector<seen_column> columns(front.column_count());
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i].facts.name = front.column_names()[i];
  for (bool is_row = !result.has_header || records.next(record); is_row;
       is_row = records.next(record)) {
    if (record.text.empty())
      continue;
    if (result.row_count == rows_max) {
      result.is_whole = false;
      break;
    }
    add_row(records, record, columns);
    ++result.row_count;
  }
  for (auto& one : columns)
    result.columns.push_back(std::move(one.facts));
  return result;
}

} // namespace troupe
