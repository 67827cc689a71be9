#include "troupe/data/formats/csv/csv_reader.hpp"

#include "troupe/data/formats/csv/csv_header.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/number_text.hpp"
#include "troupe/data/text/shown_text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {

namespace {

bool is_empty_line(const csv_record& record) {
  return std::all_of(record.text.begin(), record.text.end(), is_blank);
}

} // namespace

csv_reader::csv_reader(const std::string& file, csv_header header)
  : row_reader(file, file + ":1:1"), records_(file, csv_options{}.line_bytes_max) {
  if (!next_record())
    throw failure(failure_code::bad_data, "the file is empty", file + ":1:1",
                  "a CSV file needs rows of numbers");
  std::vector<std::string> cells;
  csv_cells in_record(records_, record_);
  for (csv_cell cell; in_record.next(cell);) {
    if (cells.size() == csv_options{}.columns_max)
      records_.fail_at(record_, cell.offset,
                       "there are more than " + std::to_string(cells.size()) + " columns",
                       "is this a CSV file?");
    cells.emplace_back(cell.text);
  }
  row_waits_ = !is_header(header, cells);
  may_hide_header_ = header == csv_header::automatic && row_waits_;
  counts_rows_ = counts_rows(cells);
  set_columns(column_names_of(cells, !row_waits_), !row_waits_);
}

// Empty lines may only come last.
bool csv_reader::next_record() {
  size_t empty_line = 0;
  while (records_.next(record_)) {
    if (is_empty_line(record_)) {
      empty_line = empty_line ? empty_line : record_.line;
      continue;
    }
    if (empty_line)
      throw failure(failure_code::bad_data, "the line is empty",
                    path() + ":" + std::to_string(empty_line) + ":1",
                    "remove it: empty lines may only stand at the end");
    return true;
  }
  return false;
}

std::vector<std::string> csv_reader::column_names_of(const std::vector<std::string>& cells,
                                                     bool has_header) const {
  std::set<std::string> seen;
  std::vector<std::string> result;
  for (size_t column = 0; column < cells.size(); ++column) {
    const bool named = has_header && !cells[column].empty();
    result.push_back(named ? cells[column] : std::to_string(column));
    if (!is_utf8(result.back()))
      records_.fail_at(record_, 0, "the column name " + shown_text(result.back()) + " is not UTF-8",
                       "save the file as UTF-8");
    if (!seen.insert(result.back()).second)
      records_.fail_at(record_, 0, "two columns are called " + shown_text(result.back()),
                       "give every column a name of its own");
  }
  return result;
}

bool csv_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  while (out.row_count < rows_max && (row_waits_ || next_record())) {
    row_waits_ = false;
    read_row(out);
  }
  any_row_ = any_row_ || out.row_count > 0;
  if (!any_row_)
    throw failure(failure_code::bad_data, "the file has a header but no rows", path() + ":1:1",
                  "add rows below the header");
  if (std::exchange(may_hide_header_, false))
    check_first_row(out);
  return out.row_count > 0;
}

// As far as the first part goes.
void csv_reader::check_first_row(const table_chunk& rows) const {
  for (size_t slot = 0; slot < target_columns().size(); ++slot) {
    hidden_header found;
    for (size_t row = 0; row < rows.row_count && !found.is_excluded(); ++row) {
      double ignored = 0;
      const auto& cell = rows.target_cells[row * target_columns().size() + slot];
      found.on_target(row, read_number(cell, ignored) != number_status::number);
    }
    if (found.is_likely())
      fail_at_line(
        rows, slot,
        hidden_header_reason(rows.target_cells[slot], shown_column(target_columns()[slot])),
        hidden_header_hint);
  }
}

void csv_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                const std::string& hint) const {
  fail_at_line(rows, i, reason, hint);
}

void csv_reader::read_row(table_chunk& out) {
  const auto first_target = out.target_cells.size();
  out.target_cells.resize(first_target + target_columns().size());
  const auto first_feature = out.features.size();
  out.features.resize(first_feature + feature_count());
  csv_cells cells(records_, record_);
  size_t column = 0;
  for (csv_cell cell; cells.next(cell); ++column) {
    if (column == column_count())
      records_.fail_at(
        record_, cell.offset,
        "the row has more cells than row 1 with its " + std::to_string(column_count()) + ": " +
          shown_text(cell.text) + " is too many",
        counts_rows_ ? counts_rows_hint : "put a cell that holds a comma in quotation marks");
    const auto slot = target_slot(column);
    const auto place = feature_slot(column);
    if (place != no_feature)
      read_feature(cell, column, out.features[first_feature + place]);
    else if (slot != no_target)
      read_target(cell, column, out.target_cells[first_target + slot]);
  }
  if (column < column_count())
    records_.fail_at(record_, record_.text.size(),
                     "the row has " + std::to_string(column) + " cells and ends before " +
                       shown_column(column) + "; row 1 has " + std::to_string(column_count()),
                     "give every row as many cells as the first");
  out.lines.push_back(record_.line);
  ++out.row_count;
}

void csv_reader::read_feature(const csv_cell& cell, size_t column, float& out) const {
  const auto status = read_number(cell.text, out);
  if (status == number_status::number)
    return;
  const auto reason = shown_text(cell.text) + " in " + shown_column(column);
  if (cell.text.empty())
    records_.fail_at(record_, cell.offset,
                     "the cell '' in " + shown_column(column) + " is empty: its value is missing",
                     "remove the row or fill the value in");
  if (status == number_status::text)
    records_.fail_at(record_, cell.offset, reason + " is not a number",
                     record_.starts_file && !has_header() && counts_rows_
                       ? counts_rows_hint
                       : hint_for_text(record_.starts_file && !has_header(), ""));
  records_.fail_at(record_, cell.offset,
                   reason + (status == number_status::not_finite
                               ? " is not a finite number"
                               : " does not fit a floating-point number"),
                   "remove the row, or use numbers up to 3.4e38");
}

void csv_reader::read_target(const csv_cell& cell, size_t column, std::string& out) const {
  if (cell.text.empty())
    records_.fail_at(record_, cell.offset,
                     "the cell '' in " + shown_column(column) + " is empty: its value is missing",
                     "remove the row or fill the value in");
  out = cell.text;
}

std::string csv_reader::shown_column(size_t column) const {
  const auto index = std::to_string(column);
  return column_names()[column] == index
           ? "column " + index
           : "column " + index + " " + shown_text(column_names()[column]);
}

} // namespace troupe
