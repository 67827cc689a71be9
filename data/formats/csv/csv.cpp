#include "troupe/data/formats/csv/csv.hpp"

#include "troupe/data/formats/csv/csv_header.hpp"
#include "troupe/data/formats/csv/csv_records.hpp"
#include "troupe/data/formats/csv/csv_rows.hpp"
#include "troupe/data/table/table_limit.hpp"
#include "troupe/data/text/closest_name.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/number_text.hpp"
#include "troupe/data/text/shown_text.hpp"
#include "troupe/models/base/large_pages.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// One file on its way into a table. What a fault does to a cell is said in `refuse_*`.
class csv_table_reader {
public:
  csv_table_reader(const std::string& path, const csv_options& options)
    : options_(options),
      limit_(path, options.table_bytes_max),
      records_(path, options.line_bytes_max) {
    result_.source = path;
  }

  table read() &&;

private:
  void read_first_record();
  std::vector<std::string> cells_of_first_record() const;
  void name_columns(const std::vector<std::string>& cells);
  void check_names() const;
  size_t find_target() const;
  size_t target_by_index() const;
  [[noreturn]] void refuse_target() const;

  bool next_row();
  void read_row();
  void read_plain_rows();
  void keep_plain_target(const csv_row_target& target, size_t line);
  void reserve(size_t row_count, size_t byte_count);
  void check_size() const;
  void check_first_row() const;
  void read_feature(const csv_cell& cell, size_t column);
  void read_target(const csv_cell& cell);
  void keep_target_number(const csv_cell& cell);

  [[noreturn]] void refuse_cell(const csv_cell& cell, size_t column, number_status status) const;
  [[noreturn]] void refuse_missing(const csv_cell& cell, size_t column) const;
  [[noreturn]] void refuse_short_row(size_t cell_count) const;
  [[noreturn]] void refuse_long_row(const csv_cell& surplus) const;
  [[noreturn]] void refuse_single_column() const;
  std::string shown_column(size_t column) const;

  const csv_options& options_;
  table_limit limit_;
  csv_records records_;
  csv_record record_;
  bool has_header_ = false;
  bool counts_rows_ = false; ///< what row 1 looks like (csv_header.hpp)
  hidden_header hidden_header_;
  std::vector<std::string> names_; ///< of every column, the target's too
  size_t target_column_ = 0;
  bool target_has_text_ = false;
  bool is_reserved_ = false;
  table result_;
};

table csv_table_reader::read() && {
  read_first_record();
  if (!has_header_)
    read_row();
  for (read_plain_rows(); next_row(); read_plain_rows())
    read_row();
  if (result_.row_count == 0)
    throw failure(failure_code::bad_data, "the file has a header but no rows",
                  result_.source + ":1:1", "add rows below the header");
  check_first_row();
  result_.feature_count = names_.size() - 1;
  result_.target_name = names_[target_column_];
  names_.erase(names_.begin() + static_cast<ptrdiff_t>(target_column_));
  result_.feature_names = std::move(names_);
  return std::move(result_);
}

bool is_empty_line(const csv_record& record) {
  return std::all_of(record.text.begin(), record.text.end(), is_blank);
}

/// Reads the next record that is not empty; false at the end. Empty lines may only come last.
bool csv_table_reader::next_row() {
  size_t empty_line = 0;
  while (records_.next(record_)) {
    if (!is_empty_line(record_)) {
      if (empty_line)
        throw failure(failure_code::bad_data, "the line is empty",
                      result_.source + ":" + std::to_string(empty_line) + ":1",
                      "remove it: empty lines may only stand at the end");
      return true;
    }
    if (!empty_line)
      empty_line = record_.line;
  }
  return false;
}

void csv_table_reader::read_first_record() {
  if (!next_row())
    throw failure(failure_code::bad_data, "the file is empty", result_.source + ":1:1",
                  "a CSV file needs rows of numbers");
  auto cells = cells_of_first_record();
  if (cells.size() == 1)
    refuse_single_column();
  has_header_ = is_header(options_.header, cells);
  counts_rows_ = counts_rows(cells);
  name_columns(cells);
  if (has_header_)
    check_names();
  target_column_ = find_target();
}

std::vector<std::string> csv_table_reader::cells_of_first_record() const {
  std::vector<std::string> result;
  csv_cells cells(records_, record_);
  for (csv_cell cell; cells.next(cell);) {
    if (result.size() == options_.columns_max)
      records_.fail_at(record_, cell.offset,
                       "there are more than " + std::to_string(options_.columns_max) + " columns",
                       "is this a CSV file?");
    result.emplace_back(cell.text);
  }
  return result;
}

void csv_table_reader::name_columns(const std::vector<std::string>& cells) {
  for (size_t column = 0; column < cells.size(); ++column)
    names_.push_back(has_header_ && !cells[column].empty() ? cells[column]
                                                           : std::to_string(column));
}

void csv_table_reader::check_names() const {
  std::unordered_map<std::string_view, size_t> columns;
  csv_cells cells(records_, record_);
  csv_cell cell;
  for (size_t column = 0; cells.next(cell); ++column) {
    if (!is_utf8(names_[column]))
      records_.fail_at(record_, cell.offset,
                       "the column name " + shown_text(names_[column]) + " is not UTF-8",
                       "save the file as UTF-8");
    auto [other, is_new] = columns.emplace(names_[column], column);
    if (!is_new)
      records_.fail_at(record_, cell.offset,
                       "columns " + std::to_string(other->second) + " and " +
                         std::to_string(column) + " are both called " + shown_text(names_[column]),
                       "give every column a name of its own");
  }
}

size_t csv_table_reader::find_target() const {
  if (options_.target == "last")
    return names_.size() - 1;
  auto named = std::find(names_.begin(), names_.end(), options_.target);
  return named != names_.end() ? static_cast<size_t>(named - names_.begin()) : target_by_index();
}

size_t csv_table_reader::target_by_index() const {
  const auto& text = options_.target;
  size_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size())
    refuse_target();
  if (error == std::errc::result_out_of_range || index >= names_.size())
    records_.fail_at(record_, 0,
                     "there is no column " + text + " for the target: the file has " +
                       std::to_string(names_.size()) + " columns",
                     "columns are counted from 0");
  return index;
}

void csv_table_reader::refuse_target() const {
  auto reason = "there is no column called " + shown_text(options_.target) + " for the target";
  if (!has_header_)
    records_.fail_at(record_, 0, reason + ": the file has no header",
                     "name the target by its index, counted from 0, or \"last\"");
  auto closest = closest_name(options_.target, names_);
  if (!closest.empty())
    records_.fail_at(record_, 0, reason, "did you mean " + shown_text(closest) + "?");
  std::string some;
  for (size_t column = 0; column < std::min<size_t>(names_.size(), 8); ++column)
    some += (column ? ", " : "") + shown_text(names_[column]);
  records_.fail_at(record_, 0, reason,
                   "the columns are " + some + (names_.size() > 8 ? ", ..." : ""));
}

void csv_table_reader::read_row() {
  csv_cells cells(records_, record_);
  size_t column = 0;
  for (csv_cell cell; cells.next(cell); ++column) {
    if (column == names_.size())
      refuse_long_row(cell);
    if (column == target_column_)
      read_target(cell);
    else
      read_feature(cell, column);
  }
  if (column < names_.size())
    refuse_short_row(column);
  ++result_.row_count;
  check_size();
}

/// Reads rows the short way, up to one that is not plain.
void csv_table_reader::read_plain_rows() {
  const csv_row_shape shape{names_.size(), target_column_, options_.line_bytes_max};
  const auto feature_count = names_.size() - 1;
  auto& features = result_.features;
  bool all_plain = true;
  while (all_plain) {
    const auto lines = records_.lines_at_hand();
    if (lines.empty())
      return;
    const char* at = lines.data();
    size_t count = 0;
    while (at < lines.data() + lines.size()) {
      csv_row_target target;
      features.resize(features.size() + feature_count);
      const char* next =
        read_plain_row(at, shape, features.data() + features.size() - feature_count, target);
      if (!next) {
        features.resize(features.size() - feature_count);
        all_plain = false;
        break;
      }
      keep_plain_target(target, records_.line() + count);
      at = next;
      ++count;
    }
    const auto bytes = static_cast<size_t>(at - lines.data());
    records_.skip_lines(bytes, count);
    result_.row_count += count;
    check_size();
    reserve(count, bytes);
  }
}

void csv_table_reader::check_size() const {
  limit_.require(result_.features.size() * sizeof(float) +
                 result_.target_cells.size() * sizeof(std::string));
}

/// Makes room for all rows if they are like these, once: the table then never moves.
void csv_table_reader::reserve(size_t row_count, size_t byte_count) {
  if (std::exchange(is_reserved_, true) || row_count == 0)
    return;
  const auto text_bytes = records_.expected_size();
  const auto feature_count = names_.size() - 1;
  // A cell has two bytes of text at least, so this takes no more than twice the file.
  const auto row_bytes_min = std::max(byte_count / row_count, 2 * names_.size());
  const auto rows = text_bytes / row_bytes_min + text_bytes / row_bytes_min / 50 + 2;
  reserve_large(result_.features, rows * feature_count);
  result_.target_cells.reserve(std::max(result_.target_cells.capacity(), rows));
  if (!target_has_text_)
    result_.target_numbers.reserve(std::max(result_.target_numbers.capacity(), rows));
}

void csv_table_reader::keep_plain_target(const csv_row_target& target, size_t line) {
  hidden_header_.on_target(result_.target_cells.size(), !target.is_number);
  result_.target_cells.emplace_back(target.text);
  if (target.is_number) {
    if (!target_has_text_)
      result_.target_numbers.push_back(target.number);
  } else if (!std::exchange(target_has_text_, true)) {
    result_.target_numbers = {};
    result_.first_text_line = line;
    result_.first_text_cell = target.text;
  }
}

void csv_table_reader::read_feature(const csv_cell& cell, size_t column) {
  float value = 0;
  auto status = read_number(cell.text, value);
  if (status != number_status::number)
    refuse_cell(cell, column, status);
  result_.features.push_back(value);
}

void csv_table_reader::read_target(const csv_cell& cell) {
  if (cell.text.empty())
    refuse_missing(cell, target_column_);
  if (!is_utf8(cell.text))
    records_.fail_at(record_, cell.offset, "the target " + shown_text(cell.text) + " is not UTF-8",
                     "save the file as UTF-8");
  keep_target_number(cell);
  result_.target_cells.emplace_back(cell.text);
}

void csv_table_reader::keep_target_number(const csv_cell& cell) {
  double value = 0;
  auto status = read_number(cell.text, value);
  hidden_header_.on_target(result_.target_cells.size(), status != number_status::number);
  if (status == number_status::number) {
    if (!target_has_text_)
      result_.target_numbers.push_back(value);
    return;
  }
  if (status != number_status::text && !cell.quoted)
    refuse_cell(cell, target_column_, status);
  if (std::exchange(target_has_text_, true))
    return;
  result_.target_numbers = {};
  result_.first_text_line = record_.line;
  result_.first_text_cell = cell.text;
}

void csv_table_reader::refuse_cell(const csv_cell& cell, size_t column,
                                   number_status status) const {
  if (cell.text.empty())
    refuse_missing(cell, column);
  const auto reason = shown_text(cell.text) + " in " + shown_column(column);
  const bool may_be_header = record_.starts_file && !has_header_;
  switch (status) {
  case number_status::not_finite:
    records_.fail_at(record_, cell.offset, reason + " is not a finite number",
                     "remove the row or fill the value in");
  case number_status::out_of_range:
    records_.fail_at(record_, cell.offset, reason + " does not fit a floating-point number",
                     "numbers go up to 3.4e38: use another unit");
  default:
    records_.fail_at(
      record_, cell.offset, reason + " is not a number",
      may_be_header && counts_rows_
        ? counts_rows_hint
        : hint_for_text(may_be_header, options_.target == "last" ? names_[column] : ""));
  }
}

void csv_table_reader::check_first_row() const {
  if (options_.header == csv_header::automatic && hidden_header_.is_likely())
    throw failure(failure_code::bad_data,
                  hidden_header_reason(result_.first_text_cell, shown_column(target_column_)),
                  result_.source + ":" + std::to_string(result_.first_text_line),
                  hidden_header_hint);
}

void csv_table_reader::refuse_missing(const csv_cell& cell, size_t column) const {
  records_.fail_at(record_, cell.offset,
                   "the cell '' in " + shown_column(column) + " is empty: its value is missing",
                   "remove the row or fill the value in");
}

void csv_table_reader::refuse_short_row(size_t cell_count) const {
  records_.fail_at(record_, record_.text.size(),
                   "the row has " + std::to_string(cell_count) + " cells and ends before " +
                     shown_column(cell_count) + "; row 1 has " + std::to_string(names_.size()),
                   "give every row as many cells as the first");
}

void csv_table_reader::refuse_long_row(const csv_cell& surplus) const {
  records_.fail_at(record_, surplus.offset,
                   "the row has more cells than row 1 with its " + std::to_string(names_.size()) +
                     ": " + shown_text(surplus.text) + " is too many",
                   counts_rows_ ? counts_rows_hint
                                : "put a cell that holds a comma in quotation marks");
}

void csv_table_reader::refuse_single_column() const {
  auto separated_by = [&](char letter) { return record_.text.find(letter) != std::string::npos; };
  std::string hint = "cells are separated by commas; the last column is the target";
  if (separated_by(';'))
    hint = "cells are separated by commas, these look separated by semicolons";
  else if (separated_by('\t'))
    hint = "cells are separated by commas, these look separated by tabs";
  records_.fail_at(record_, 0, "the file has one column; it needs a target and a feature", hint);
}

std::string csv_table_reader::shown_column(size_t column) const {
  auto index = std::to_string(column);
  return names_[column] == index ? "column " + index
                                 : "column " + index + " " + shown_text(names_[column]);
}

} // namespace

table read_csv(const std::string& path, const csv_options& options) {
  return csv_table_reader(path, options).read();
}

} // namespace troupe
