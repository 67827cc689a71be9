#include "troupe/data/formats/csv/csv_columns.hpp"

#include "troupe/data/formats/csv/csv_options.hpp"
#include "troupe/data/formats/csv/csv_records.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/number_text.hpp"

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
    if (cell.text.empty()) {
      ++facts.empty_count;
      return;
    }
    if (!facts.has_many_values())
      facts.values.emplace(cell.text.substr(0, value_bytes_kept));
    float number = 0;
    if (read_number(cell.text, number) != number_status::number) {
      if (facts.text_count++ == 0)
        facts.first_text = cell.text.substr(0, value_bytes_kept);
      return;
    }
    ++facts.number_count;
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

void add_row(const csv_records& records, const csv_record& row, std::vector<seen_column>& columns) {
  csv_cells cells{records, row};
  size_t count = 0;
  for (csv_cell cell; cells.next(cell); ++count)
    if (count < columns.size())
      columns[count].add(cell);
  if (count != columns.size())
    records.fail_at(row, 0,
                    "the row has " + std::to_string(count) + " cells, row 1 has " +
                      std::to_string(columns.size()),
                    "give every row as many cells as the first; put a cell that holds a comma in "
                    "quotation marks");
}

} // namespace

csv_facts facts_of_csv(const std::string& path, csv_header header, uint64_t rows_max) {
  csv_records records{path, csv_options{}.line_bytes_max};
  csv_record record;
  if (!records.next(record))
    throw failure(failure_code::bad_data, "the file is empty", path + ":1:1");
  const auto first = cells_of(records, record);
  if (first.size() > csv_options{}.columns_max)
    records.fail_at(record, 0, "there are " + std::to_string(first.size()) + " columns",
                    "is this a CSV file?");
  csv_facts result;
  result.has_header = is_header(header, first);
  std::vector<seen_column> columns(first.size());
  for (size_t i = 0; i < first.size(); ++i)
    columns[i].facts.name = result.has_header && !first[i].empty() ? first[i] : std::to_string(i);
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
