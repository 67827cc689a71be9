// What csv_reader (csv_reader.hpp) says of rows that it does not take, and where.

#include "data/formats/csv/csv_header.hpp"
#include "data/formats/csv/csv_reader.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

namespace troupe {

void csv_reader::refuse_hidden_header(const table_chunk& rows, size_t slot, size_t line) const {
  throw failure(failure_code::bad_data,
                hidden_header_reason(rows.target_cells[slot], shown_column(target_columns()[slot])),
                path() + ":" + std::to_string(line), hidden_header_hint);
}

void csv_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                const std::string& hint) const {
  fail_at_line(rows, i, reason, hint);
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
                                       options_.target == "last"));
  }
}

void csv_reader::refuse_coded(const csv_cell& cell, size_t column, cell_status status) const {
  const auto shown = shown_text(cell.text) + " in " + shown_column(column);
  const auto kind = coder_->plan().columns[feature_slot(column)].kind;
  switch (status) {
  case cell_status::not_utf8:
    records_.fail_at(record_, cell.offset, "the category " + shown + " is not UTF-8",
                     "save the file as UTF-8");
  case cell_status::too_many:
    records_.fail_at(record_, cell.offset,
                     "with " + shown + " there are more categories than the " +
                       std::to_string(options_.columns.categories_max) +
                       " features that data.categories_max allows",
                     "leave the column with the most of them out (data.ignore), or allow more");
  default:
    records_.fail_at(
      record_, cell.offset,
      kind == column_kind::date ? shown + " is no date" : shown + " is neither true nor false",
      kind == column_kind::date ? "dates are written year first, as in 2024-02-29"
                                : "write true or false, yes or no, t or f, y or n, 1 or 0");
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
