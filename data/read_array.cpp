#include "troupe/data/read_array.hpp"

#include "troupe/data/array_values.hpp"
#include "troupe/data/binary_source.hpp"
#include "troupe/data/failure.hpp"
#include "troupe/data/idx.hpp"
#include "troupe/data/large_pages.hpp"
#include "troupe/data/npy.hpp"
#include "troupe/data/shown_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace troupe {

namespace {

/// An open array, behind its header.
struct open_array {
  explicit open_array(const std::string& path) : source(path) {
    header = looks_like_npy(source.start()) ? read_npy_header(source) : read_idx_header(source);
  }

  binary_source source;
  array_header header;
  uint64_t rows = 0;
  uint64_t columns = 1;
  bool size_known = false; ///< and equal to what the header promises
};

std::string shown_shape(const array_header& header) {
  std::string result;
  for (const auto extent : header.shape)
    result += (result.empty() ? "" : " x ") + std::to_string(extent);
  return result.empty() ? "a single value" : result;
}

/// Rows and columns by the header, held against the bounds and the file.
void find_shape(open_array& array, size_t columns_max) {
  const auto& shape = array.header.shape;
  const auto refuse = [&](const std::string& reason, std::string hint) {
    array.source.fail(array.source.offset(),
                      "the array's shape is " + shown_shape(array.header) + ": " + reason,
                      std::move(hint));
  };
  if (shape.empty() || std::find(shape.begin(), shape.end(), 0u) != shape.end())
    refuse("it has no rows or no columns", "save an array of rows and columns");
  array.rows = shape[0];
  for (size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] > columns_max / array.columns)
      refuse("a row has more than " + std::to_string(columns_max) + " values",
             "the header may be damaged; rows are counted by the first extent");
    array.columns *= shape[i];
  }
  const auto row_bytes = array.columns * bytes_of(array.header.type);
  if (array.rows > std::numeric_limits<int64_t>::max() / row_bytes)
    refuse("no file is that large", "the header is damaged: get the file again");
  array.size_known = array.source.expect_rest(array.rows * row_bytes);
}

open_array open(const std::string& path, size_t columns_max) {
  open_array result(path);
  find_shape(result, columns_max);
  return result;
}

void keep_target(const array_values& values, size_t i, table& out) {
  out.target_numbers.push_back(values.number(i));
  out.target_cells.push_back(values.text(i));
}

/// Reads all values; column `target` of each row (none when it is `columns`) goes to the targets.
void read_rows(open_array& array, uint64_t target, table& out) {
  const bool has_target = target < array.columns;
  out.row_count = array.rows;
  out.feature_count = array.columns - has_target;
  if (array.size_known) {
    reserve_large(out.features, out.row_count * out.feature_count);
    if (has_target) {
      out.target_numbers.reserve(out.row_count);
      out.target_cells.reserve(out.row_count);
    }
  }
  array_values values(array.source, array.header, array.rows * array.columns);
  uint64_t column = 0; // of the block's first value not kept yet
  for (auto block = values.next(); !block.empty(); block = values.next()) {
    for (size_t i = 0; i < block.size();) {
      if (column == target) {
        keep_target(values, i++, out);
        column = (column + 1) % array.columns;
        continue;
      }
      const auto stop = column < target && has_target ? target : array.columns;
      const auto count =
        has_target ? std::min<uint64_t>(stop - column, block.size() - i) : uint64_t{block.size()};
      const auto run = block.subspan(i, count);
      out.features.insert(out.features.end(), run.begin(), run.end());
      i += count;
      column = has_target ? (column + count) % array.columns : 0;
    }
  }
  array.source.expect_end();
}

void read_labels(const std::string& path, table& out) {
  auto labels = open(path, 1);
  if (labels.rows != out.row_count)
    labels.source.fail(labels.source.offset(),
                       "there are " + std::to_string(labels.rows) + " labels for " +
                         std::to_string(out.row_count) + " rows",
                       "name the labels that belong to " + shown_text(out.source));
  table column;
  read_rows(labels, 0, column);
  out.target_cells = std::move(column.target_cells);
  out.target_numbers = std::move(column.target_numbers);
  out.target_name = "label";
}

uint64_t target_column(const open_array& array, const std::string& target) {
  if (array.header.shape.size() != 2 || array.columns < 2)
    array.source.fail(array.source.offset(),
                      "the array's shape is " + shown_shape(array.header) +
                        ": no column of it can be the target",
                      "name the file of the labels: data.labels_file");
  if (target == "last")
    return array.columns - 1;
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), index);
  if (target.empty() || end != target.data() + target.size() || error != std::errc() ||
      index >= array.columns)
    array.source.fail(array.source.offset(),
                      "there is no column " + shown_text(target) +
                        " for the target: the array has " + std::to_string(array.columns) +
                        " columns without names",
                      "use \"last\" or an index counted from 0");
  return index;
}

void name_columns(uint64_t columns, uint64_t target, table& out) {
  out.feature_names.reserve(out.feature_count);
  for (uint64_t column = 0; column < columns; ++column)
    if (column != target)
      out.feature_names.push_back(std::to_string(column));
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
  auto array = open(path, options.columns_max);
  const auto labels = options.labels_file.empty() ? labels_beside(path) : options.labels_file;
  const auto target = labels.empty() ? target_column(array, options.target) : array.columns;
  table result;
  result.source = path;
  read_rows(array, target, result);
  if (labels.empty())
    result.target_name = std::to_string(target);
  else
    read_labels(labels, result);
  name_columns(array.columns, target, result);
  return result;
}

} // namespace troupe
