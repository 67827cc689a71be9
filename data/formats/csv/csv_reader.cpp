#include "data/formats/csv/csv_reader.hpp"

#include "data/formats/csv/csv_rows.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

namespace troupe {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Rows behind one that is not plain that are not tried the short way: quoted texts come in columns.
constexpr size_t rows_like_an_odd_one = 4;

csv_options options_of(csv_header header, const csv_dialect& dialect) {
  csv_options result;
  result.header = header;
  result.dialect = dialect;
  return result;
}

/// Its text with the marks that amounts have by a decimal point.
std::string as_amount(const csv_cell& cell, const csv_dialect& dialect) {
  return dialect.decimal == '.' ? std::string{cell.text} : with_marks_swapped(cell.text);
}

bool is_empty_line(const csv_record& record, char separator) {
  return std::ranges::all_of(record.text,
                             [=](char letter) { return is_blank(letter) && letter != separator; });
}

} // namespace

csv_reader::csv_reader(const std::string& file, csv_header header, const csv_dialect& dialect)
  : csv_reader(file, options_of(header, dialect), false) {}

csv_reader::csv_reader(const std::string& file, const csv_options& options)
  : csv_reader(file, options, true) {}

csv_reader::csv_reader(const std::string& file, const csv_options& options, bool needs_target)
  : row_reader(file, file + ":1:1"),
    options_(options),
    needs_target_(needs_target),
    records_(file, options.line_bytes_max, quote_rule::csv, options.dialect) {
  if (!next_record())
    throw failure(failure_code::bad_data, "the file is empty", file + ":1:1",
                  "a CSV file needs rows of numbers");
  const auto cells = cells_of_first_record();
  if (cells.size() == 1 && needs_target_)
    refuse_single_column();
  row_waits_ = !is_header(options_.header, cells);
  may_hide_header_ = options_.header == csv_header::automatic && row_waits_;
  counts_rows_ = counts_rows(cells);
  set_columns(column_names_of(cells, !row_waits_), !row_waits_);
  name_is_below_.resize(cells.size());
}

// Empty lines may only come last.
bool csv_reader::next_record() {
  size_t empty_line = 0;
  while (records_.next(record_)) {
    if (is_empty_line(record_, options_.dialect.separator)) {
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

std::vector<std::string> csv_reader::cells_of_first_record() const {
  std::vector<std::string> result;
  csv_cells cells(records_, record_);
  for (csv_cell cell; cells.next(cell);) {
    if (result.size() == options_.columns_max)
      records_.fail_at(record_, cell.offset,
                       "there are more than " + std::to_string(options_.columns_max) + " columns",
                       "is this a CSV file?");
    result.emplace_back(with_point(cell));
  }
  return result;
}

std::vector<std::string> csv_reader::column_names_of(const std::vector<std::string>& cells,
                                                     bool has_header) const {
  std::vector<std::string> result;
  for (size_t column = 0; column < cells.size(); ++column)
    result.push_back(has_header && !cells[column].empty() ? cells[column] : std::to_string(column));
  if (has_header)
    check_names(result);
  return result;
}

void csv_reader::check_names(const std::vector<std::string>& names) const {
  std::unordered_map<std::string_view, size_t> columns;
  csv_cells cells(records_, record_);
  csv_cell cell;
  for (size_t column = 0; cells.next(cell); ++column) {
    const auto& name = names[column];
    if (!is_utf8(name))
      records_.fail_at(record_, cell.offset,
                       "the column name " + shown_text(name) + " is not UTF-8",
                       "save the file as UTF-8");
    const auto [other, is_new] = columns.emplace(name, column);
    if (!is_new)
      records_.fail_at(record_, cell.offset,
                       "columns " + std::to_string(other->second) + " and " +
                         std::to_string(column) + " are both called " + shown_text(name),
                       "give every column a name of its own");
  }
}

bool csv_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  while (out.row_count < rows_max && append(out, rows_max - out.row_count))
    ;
  if (std::exchange(first_rows_wait_, false))
    check_first_rows(out);
  return out.row_count > 0;
}

csv_block csv_reader::append(table_chunk& out, size_t rows_max) {
  if (rows_not_tried_ > 0) {
    --rows_not_tried_;
  } else if (!row_waits_ && takes_plain_rows()) {
    if (const auto plain = append_plain_rows(out, rows_max))
      return plain;
    rows_not_tried_ = rows_like_an_odd_one;
  }
  while (std::exchange(row_waits_, false) || next_record())
    if (append_row(out))
      return {1, record_.text.size()};
  return {};
}

bool csv_reader::look_at_row(const std::function<void(size_t, std::string_view)>& use) {
  if (!std::exchange(row_waits_, false) && !next_record())
    return false;
  csv_cells cells(records_, record_);
  size_t column = 0;
  for (csv_cell cell; cells.next(cell); ++column) {
    if (column == column_count())
      refuse_long_row(cell);
    use(column, cell.text);
  }
  if (column < column_count())
    refuse_short_row(column);
  return true;
}

// The short way is made for a target and, in their order, all other columns as features.
bool csv_reader::takes_plain_rows() const {
  return target_columns().size() == 1 && features_are_the_rest() && !coder_ && kept_count() == 0 &&
         options_.dialect.decimal == '.' && !(digits_ && digits_->wants_more());
}

// Up to one that is not plain.
csv_block csv_reader::append_plain_rows(table_chunk& out, size_t rows_max) {
  const auto& dialect = options_.dialect;
  const csv_row_shape shape{column_count(), target_columns().front(), options_.line_bytes_max,
                            dialect.separator, dialect.quote};
  const auto lines = records_.lines_at_hand();
  const char* at = lines.data();
  size_t count = 0;
  while (count < rows_max && at < lines.data() + lines.size()) {
    if (dialect.comment != 0 && *at == dialect.comment)
      break;
    csv_row_target target;
    const auto first_feature = out.features.size();
    out.features.resize(first_feature + feature_count());
    const char* next = read_plain_row(at, shape, out.features.data() + first_feature, target);
    if (!next) {
      out.features.resize(first_feature);
      break;
    }
    out.target_cells.emplace_back(target.text);
    out.target_numbers.push_back(target.is_number ? target.number : no_number);
    out.lines.push_back(records_.line() + count);
    at = next;
    ++count;
  }
  const auto bytes = static_cast<size_t>(at - lines.data());
  records_.skip_lines(bytes, count);
  out.row_count += count;
  return {count, bytes};
}

// False: the row is dropped, and nothing was appended.
bool csv_reader::append_row(table_chunk& out) {
  const auto target_count = target_columns().size();
  out.features.resize(out.features.size() + feature_count());
  out.target_cells.resize(out.target_cells.size() + target_count);
  out.target_numbers.resize(out.target_numbers.size() + target_count);
  out.kept_cells.resize(out.kept_cells.size() + kept_count());
  std::string* const kept_cells = out.kept_cells.data() + out.kept_cells.size() - kept_count();
  float* const features = out.features.data() + out.features.size() - feature_count();
  std::string* const target_cells =
    out.target_cells.data() + out.target_cells.size() - target_count;
  double* const numbers = out.target_numbers.data() + out.target_numbers.size() - target_count;
  csv_cells cells(records_, record_);
  size_t column = 0;
  size_t names_again = 0;
  bool is_kept = true;
  for (csv_cell cell; cells.next(cell); ++column) {
    if (column == column_count())
      refuse_long_row(cell);
    const bool is_name = has_header() && cell.text == column_names()[column];
    names_again += is_name;
    name_is_below_[column] = name_is_below_[column] || is_name;
    if (names_again == column_count() && names_again > 1)
      records_.fail_at(record_, 0, "the row is the header once more",
                       "remove the line; if row 1 is a row too, say so: data.header = false (no)");
    if (const auto kept = kept_slot(column); kept != no_feature)
      kept_cells[kept] = cell.text;
    const auto place = feature_slot(column);
    const auto slot = target_slot(column);
    if ((place != no_feature || slot != no_target) && !holds_amounts(column))
      cell.text = with_point(cell);
    if (place != no_feature) {
      is_kept = read_feature(cell, column, features[place]) && is_kept;
    } else if (slot != no_target) {
      if (drops(cell, column)) {
        is_kept = false;
        continue;
      }
      numbers[slot] = read_target(cell, column);
      target_cells[slot] = cell.text;
    }
  }
  if (column < column_count())
    refuse_short_row(column);
  if (!is_kept) {
    out.features.resize(out.features.size() - feature_count());
    out.target_cells.resize(out.target_cells.size() - target_count);
    out.target_numbers.resize(out.target_numbers.size() - target_count);
    out.kept_cells.resize(out.kept_cells.size() - kept_count());
    first_dropped_line_ = dropped_count_++ == 0 ? record_.line : first_dropped_line_;
    return false;
  }
  out.lines.push_back(record_.line);
  ++out.row_count;
  return true;
}

bool csv_reader::holds_amounts(size_t column) const {
  if (!coder_)
    return false;
  const auto& plan = coder_->plan();
  const auto place = feature_slot(column);
  return place == no_feature ? plan.target && target_slot(column) == 0
                             : plan.columns[place].kind == column_kind::amount;
}

// The text of a cell, with a point where a number has a decimal comma.
std::string_view csv_reader::with_point(const csv_cell& cell) const {
  if (options_.dialect.decimal == '.')
    return cell.text;
  double ignored = 0;
  if (cell.text.find('.') != cell.text.npos &&
      read_number(cell.text, ignored) == number_status::number)
    records_.fail_at(record_, cell.offset,
                     shown_text(cell.text) + " has a point, and the decimal mark is a comma",
                     "write numbers without marks between thousands, or use data.decimal = \".\"");
  pointed_ = cell.text;
  std::ranges::replace(pointed_, ',', '.');
  return read_number(pointed_, ignored) == number_status::number ? std::string_view{pointed_}
                                                                 : cell.text;
}

// False: its row is dropped.
bool csv_reader::read_feature(const csv_cell& cell, size_t column, float& out) const {
  if (digits_ && digits_->wants_more())
    digits_->add(feature_slot(column), cell.text);
  if (!coder_) {
    const auto status = read_number(cell.text, out);
    if (status != number_status::number)
      refuse_cell(cell, column, status);
    return true;
  }
  const auto slot = feature_slot(column);
  const auto status = holds_amounts(column)
                        ? coder_->code(slot, as_amount(cell, options_.dialect), out)
                        : coder_->code(slot, cell.text, out);
  switch (status) {
  case cell_status::coded:
    return true;
  case cell_status::missing:
    if (coder_->plan().missing == missing_rule::error)
      refuse_missing(cell, column);
    return coder_->plan().missing == missing_rule::mean;
  case cell_status::unreadable:
    if (coder_->plan().columns[slot].kind == column_kind::number)
      refuse_cell(cell, column, read_number(cell.text, out));
    [[fallthrough]];
  default:
    refuse_coded(cell, column, status);
  }
}

// A target without a value. Without a weight nobody knows whether the row counts at all.
bool csv_reader::drops(const csv_cell& cell, size_t column) const {
  if (!coder_ || ignores_targets() || !coder_->is_missing_number(cell.text))
    return false;
  if (coder_->plan().missing != missing_rule::drop || is_weight(column))
    refuse_missing(cell, column);
  return true;
}

double csv_reader::read_target(const csv_cell& cell, size_t column) const {
  double value = no_number;
  const auto status = read_number(cell.text, value);
  if (ignores_targets()) // text may belong to a hidden header
    return cell.text.empty() || status != number_status::text ? 0 : no_number;
  if (cell.text.empty())
    refuse_missing(cell, column);
  if (holds_amounts(column)) {
    const auto coded = coder_->code_target(as_amount(cell, options_.dialect), value);
    if (coded != cell_status::coded)
      refuse_coded(cell, column, coded);
    return value;
  }
  if (!is_utf8(cell.text))
    records_.fail_at(record_, cell.offset, "the target " + shown_text(cell.text) + " is not UTF-8",
                     "save the file as UTF-8");
  const bool is_text = status == number_status::text || cell.quoted;
  if (status != number_status::number && !is_text)
    refuse_cell(cell, column, status);
  return value;
}

void csv_reader::check_first_rows(const table_chunk& rows) const {
  require_rows(rows);
  const auto target_count = may_hide_header_ ? target_columns().size() : 0;
  for (size_t slot = 0; slot < target_count; ++slot) {
    hidden_header found;
    for (size_t row = 0; row < rows.row_count && !found.is_excluded(); ++row)
      found.on_target(row, std::isnan(rows.target_numbers[row * target_count + slot]));
    if (found.is_likely())
      refuse_hidden_header(rows, slot, rows.lines.front());
  }
}

void csv_reader::require_rows(const table_chunk& rows) const {
  if (rows.row_count == 0 && dropped_count_ > 0)
    throw failure(failure_code::bad_data,
                  "none of the " + std::to_string(dropped_count_) +
                    " rows has a value in every cell, and all are left out",
                  path(), "use data.missing = \"mean\", or ignore the columns with many gaps");
  if (rows.row_count == 0)
    throw failure(failure_code::bad_data, "the file has a header but no rows", path() + ":1:1",
                  "add rows below the header");
  if (needs_target_ && options_.header == csv_header::automatic && has_header() &&
      std::ranges::find(name_is_below_, false) == name_is_below_.end())
    throw failure(
      failure_code::bad_data,
      "row 1 looks like a header, but each of its cells stands in its column once more: "
      "it may be a row",
      path() + ":1:1", "say what it is: data.header = true (--header yes) or false (no)");
}

// What csv_reader says of rows that it does not take, and where.

void csv_reader::refuse_hidden_header(const table_chunk& rows, size_t slot, size_t line) const {
  throw failure(failure_code::bad_data,
                hidden_header_reason(rows.target_cells[slot], shown_column(target_columns()[slot])),
                path() + ":" + std::to_string(line), hidden_header_hint);
}

void csv_reader::refuse_single_column() const {
  const auto separated_by = [&](char letter) {
    return record_.text.find(letter) != record_.text.npos;
  };
  std::string hint = "cells are separated by commas; the last column is the target";
  if (separated_by(';'))
    hint =
      "cells are separated by commas, these look separated by semicolons: data.separator = \";\"";
  else if (separated_by('\t'))
    hint = "cells are separated by commas, these look separated by tabs: data.separator = \"\\t\"";
  records_.fail_at(record_, 0, "the file has one column; it needs a target and a feature", hint);
}

void csv_reader::refuse_cell(const csv_cell& cell, size_t column, number_status status) const {
  if (cell.text.empty())
    refuse_missing(cell, column);
  const auto reason = shown_text(cell.text) + " in " + shown_column(column);
  const bool may_be_header = record_.starts_file && !has_header();
  switch (status) {
  case number_status::not_finite:
    records_.fail_at(record_, cell.offset, reason + " is not a finite number",
                     std::string{"remove the row or fill the value in"} +
                       (may_be_header ? std::string{"; "} + header_hint : ""));
  case number_status::out_of_range:
    records_.fail_at(record_, cell.offset, reason + " does not fit a floating-point number",
                     "numbers go up to 3.4e38: use another unit");
  default:
    records_.fail_at(record_, cell.offset, reason + " is not a number",
                     may_be_header && counts_rows_
                       ? counts_rows_hint
                       : hint_for_text(may_be_header, needs_target_ ? column_names()[column] : "",
                                       options_.target == "last", cell.text));
  }
}

namespace {

/// What a cell is not, and how it is written.
struct expected_cell {
  const char* reason;
  const char* hint;
};

expected_cell expected_of(column_kind kind) {
  switch (kind) {
  case column_kind::boolean:
    return {"neither true nor false", "write true or false, yes or no, t or f, y or n, 1 or 0"};
  case column_kind::amount:
    return {"no amount",
            "write 1234.5, 1,234.5, $12, 12 EUR or 12%; data.decimal is its decimal mark"};
  default:
    return {
      kind == column_kind::date ? "no date" : "no date with a time",
      "dates are written as 2024-02-29, with data.date_order = \"day-first\" also as 29/2/2024, "
      "with \"month-first\" as 2/29/2024, years with four digits; times behind them as 13:05 or "
      "1:05 PM"};
  }
}

} // namespace

void csv_reader::refuse_coded(const csv_cell& cell, size_t column, cell_status status) const {
  const auto shown = shown_text(cell.text) + " in " + shown_column(column);
  const auto place = feature_slot(column);
  const auto& plan = coder_->plan();
  const auto& own = place == no_feature ? *plan.target : plan.columns[place];
  switch (status) {
  case cell_status::not_utf8:
    records_.fail_at(record_, cell.offset, "the category " + shown + " is not UTF-8",
                     "save the file as UTF-8");
  case cell_status::too_many:
    records_.fail_at(record_, cell.offset,
                     "with " + shown + " there are more categories than the " +
                       std::to_string(options_.categories_max) +
                       " features that data.categories_max allows",
                     "leave the column with the most of them out (data.ignore), or allow more");
  case cell_status::other_unit:
    records_.fail_at(record_, cell.offset,
                     shown + " has another unit than the column's other cells",
                     "amounts are read as they stand: write all of them in one unit, and 12% "
                     "nowhere beside 0.12");
  default:
    const auto [reason, hint] = expected_of(own.kind);
    records_.fail_at(record_, cell.offset, shown + " is " + reason, hint);
  }
}

std::string csv_reader::dropped_remark() const {
  if (dropped_count_ == 0)
    return "";
  return std::to_string(dropped_count_) + (dropped_count_ == 1 ? " row" : " rows") +
         " without a value in some cell left out (data.missing = \"drop\"), the first in line " +
         std::to_string(first_dropped_line_);
}

void csv_reader::refuse_missing(const csv_cell& cell, size_t column) const {
  const auto name = "\"" + column_names()[column] + "\"";
  std::string hint = "remove the row or fill the value in";
  if (is_weight(column))
    hint += ": a weight of 0 leaves a row out of the loss";
  else if (needs_target_ && target_slot(column) != no_target)
    hint += ", or leave such rows out: data.missing = \"drop\"";
  else if (needs_target_)
    hint +=
      ", say what stands for it: data.missing = \"mean\" (or \"drop\": no such rows), or leave the "
      "column out: data.ignore = [" +
      name + "]";
  records_.fail_at(
    record_, cell.offset,
    "the cell " + shown_text(cell.text) + " in " + shown_column(column) +
      (cell.text.empty() ? " is empty: its value is missing" : " says that its value is missing"),
    hint);
}

void csv_reader::refuse_long_row(const csv_cell& surplus) const {
  records_.fail_at(record_, surplus.offset,
                   "the row has more cells than row 1 with its " + std::to_string(column_count()) +
                     ": " + shown_text(surplus.text) + " is too many",
                   counts_rows_ ? counts_rows_hint
                                : "put a cell that holds a comma in quotation marks");
}

void csv_reader::refuse_short_row(size_t cell_count) const {
  records_.fail_at(record_, record_.text.size(),
                   "the row has " + std::to_string(cell_count) + " cells and ends before " +
                     shown_column(cell_count) + "; row 1 has " + std::to_string(column_count()),
                   "give every row as many cells as the first");
}

std::string csv_reader::shown_column(size_t column) const {
  const auto index = std::to_string(column);
  return column_names()[column] == index
           ? "column " + index
           : "column " + index + " " + shown_text(column_names()[column]);
}

} // namespace troupe
