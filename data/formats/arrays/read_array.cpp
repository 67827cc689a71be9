#include "data/formats/arrays/read_array.hpp"

#include "data/formats/arrays/array_rows.hpp"
#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/large_pages.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

/// Reads all rows; the values that are not targets become features.
void read_rows(array_rows& rows, size_t target_count, table& out) {
  out.row_count = rows.row_count();
  out.feature_count = rows.column_count() - target_count;
  array_targets targets;
  if (rows.size_known()) {
    reserve_large(out.features, out.row_count * out.feature_count);
    targets.cells.reserve(out.row_count * target_count);
    targets.numbers.reserve(out.row_count * target_count);
  }
  rows.read(rows.row_count(), out.features, targets);
  out.target_cells = std::move(targets.cells);
  out.target_numbers = std::move(targets.numbers);
}

void read_labels(const std::string& path, const array_rows& rows, table& out) {
  array_rows labels(path, 1);
  require_labels_fit(labels, rows, 1);
  labels.set_targets({0});
  table column;
  read_rows(labels, 1, column);
  out.target_cells = std::move(column.target_cells);
  out.target_numbers = std::move(column.target_numbers);
  out.target_name = "label";
}

uint64_t target_column(const array_rows& array, const std::string& target) {
  if (array.header().shape.size() != 2 || array.column_count() < 2)
    array.fail("the array's shape is " + shown_shape(array.header()) +
                 ": no column of it can be the target",
               "name the file of the labels: data.labels_file");
  if (target == "last")
    return array.column_count() - 1;
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), index);
  if (target.empty() || end != target.data() + target.size() || error != std::errc() ||
      index >= array.column_count())
    array.fail("there is no column " + shown_text(target) + " for the target: the array has " +
                 std::to_string(array.column_count()) + " columns without names",
               "use \"last\" or an index counted from 0");
  return index;
}

void name_columns(uint64_t columns, uint64_t target, table& out) {
  out.feature_names.reserve(out.feature_count);
  for (uint64_t column = 0; column < columns; ++column)
    if (column != target)
      out.feature_names.push_back(std::to_string(column));
}

/// Of the features and their names, by the header: a compressed file may promise anything.
uint64_t saturated_bytes(const array_rows& rows) {
  uint64_t result = 0;
  const bool overflows =
    __builtin_mul_overflow(rows.row_count(), rows.column_count() * sizeof(float), &result) ||
    __builtin_add_overflow(result, rows.column_count() * sizeof(std::string), &result);
  return overflows ? std::numeric_limits<uint64_t>::max() : result;
}

} // namespace

std::string labels_beside(const std::string& path) {
  constexpr std::string_view images = "images-idx3", labels = "labels-idx1";
  const auto name = path.rfind('/') + 1; // 0 when there is no '/'
  const auto at = path.find(images, name);
  if (at == path.npos)
    return {};
  return std::string(path).replace(at, images.size(), labels);
}

table read_array(const std::string& path, const array_options& options) {
  array_rows rows(path, options.columns_max);
  const table_limit limit(path, options.table_bytes_max);
  limit.require(saturated_bytes(rows));
  const auto labels = options.labels_file.empty() ? labels_beside(path) : options.labels_file;
  const auto target = labels.empty() ? target_column(rows, options.target) : rows.column_count();
  table result;
  result.source = path;
  lost_digits digits(rows.column_count());
  rows.watch_digits(digits);
  if (labels.empty())
    rows.set_targets({target});
  read_rows(rows, labels.empty() ? 1 : 0, result);
  if (labels.empty())
    result.target_name = std::to_string(target);
  else
    read_labels(labels, rows, result);
  name_columns(rows.column_count(), target, result);
  const auto name_of = [target](size_t column) {
    return column == target ? std::string{} : std::to_string(column);
  };
  digits.add_remarks(path, name_of, result.remarks);
  return result;
}

array_reader::array_reader(const std::string& path, size_t columns_max)
  : row_reader(path, path), rows_(path, columns_max) {
  std::vector<std::string> names;
  for (uint64_t column = 0; column < rows_.column_count(); ++column)
    names.push_back(std::to_string(column));
  set_columns(std::move(names), false);
}

void array_reader::set_labels(const std::string& path, size_t target_count) {
  labels_.emplace(path, target_count);
  require_labels_fit(*labels_, rows_, target_count);
  std::vector<size_t> all(target_count);
  std::iota(all.begin(), all.end(), 0);
  labels_->set_targets(all);
}

bool array_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  if (rows_given_ == 0 && !labels_)
    rows_.set_targets(target_columns());
  const auto count = std::min<uint64_t>(rows_max, rows_.row_count() - rows_given_);
  if (count == 0)
    return false;
  targets_.clear();
  rows_.read(count, out.features, targets_);
  if (labels_)
    labels_->read(count, no_features_, targets_);
  out.target_cells.swap(targets_.cells);
  out.target_numbers.swap(targets_.numbers);
  out.row_count = count;
  rows_given_ += count;
  return true;
}

void array_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                  const std::string& hint) const {
  const auto& source = labels_ ? *labels_ : rows_;
  const auto width = rows.target_cells.size() / rows.row_count;
  const auto row = rows_given_ - rows.row_count + i / width;
  source.fail_at(row, labels_ ? i % width : target_columns()[i % width], reason, hint);
}

} // namespace troupe
