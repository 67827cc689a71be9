#include "data/formats/arrays/read_array.hpp"

#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/buffer.hpp"
#include "models/base/saturating.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <system_error>

namespace troupe {

namespace {

array_header read_header(binary_source& source) {
  return looks_like_npy(source.start()) ? read_npy_header(source) : read_idx_header(source);
}

} // namespace

std::string shown_shape(const array_header& header) {
  std::string result;
  for (const auto extent : header.shape)
    result += (result.empty() ? "" : " x ") + std::to_string(extent);
  return result.empty() ? "a single value" : result;
}

void require_labels_fit(const array_rows& labels, const array_rows& rows, size_t columns) {
  if (labels.row_count() != rows.row_count())
    labels.fail("there are " + std::to_string(labels.row_count()) + " labels for " +
                  std::to_string(rows.row_count()) + " rows",
                "name the labels that belong to " + shown_text(rows.path()));
  if (labels.column_count() != columns)
    labels.fail("the array's shape is " + shown_shape(labels.header()) + ": a row has " +
                  std::to_string(columns) + " targets",
                "name the labels that belong to " + shown_text(rows.path()));
}

array_rows::array_rows(const std::string& path, size_t columns_max)
  : source_(path), header_(read_header(source_)), values_(source_, header_) {
  find_shape(columns_max);
  values_offset_ = source_.offset();
  rows_left_ = row_count_;
}

/// Rows and columns by the header, held against the bounds and the file.
void array_rows::find_shape(size_t columns_max) {
  const auto& shape = header_.shape;
  const auto refuse = [&](const std::string& reason, std::string hint) {
    fail("the array's shape is " + shown_shape(header_) + ": " + reason, std::move(hint));
  };
  if (shape.empty() || std::find(shape.begin(), shape.end(), 0u) != shape.end())
    refuse("it has no rows or no columns", "save an array of rows and columns");
  row_count_ = shape[0];
  for (size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] > columns_max / column_count_)
      refuse("a row has more than " + std::to_string(columns_max) + " values",
             "the header may be damaged; rows are counted by the first extent");
    column_count_ *= shape[i];
  }
  const auto row_bytes = column_count_ * bytes_of(header_.type);
  if (row_count_ > std::numeric_limits<int64_t>::max() / row_bytes)
    refuse("no file is that large", "the header is damaged: get the file again");
  size_known_ = source_.expect_rest(row_count_ * row_bytes);
}

void array_rows::fail(const std::string& reason, std::string hint) const {
  source_.fail(source_.offset(), reason, std::move(hint));
}

void array_rows::fail_at(uint64_t row, uint64_t column, const std::string& reason,
                         std::string hint) const {
  const auto value = row * column_count_ + column;
  source_.fail(values_offset_ + value * bytes_of(header_.type), reason, std::move(hint));
}

void array_rows::set_targets(const std::vector<size_t>& columns) {
  targets_.clear();
  for (size_t slot = 0; slot < columns.size(); ++slot)
    targets_.push_back({columns[slot], slot});
  std::ranges::sort(targets_);
}

void array_rows::read(uint64_t count, table_chunk& out) {
  const auto value_count = count * column_count_;
  if (!targets_.empty())
    read_mixed(value_count, out);
  else
    for (uint64_t left = value_count; left > 0;)
      left -= append(left, out.features);
  rows_left_ -= count;
  if (rows_left_ == 0)
    source_.expect_end();
}

size_t array_rows::append(uint64_t count, std::vector<float>& out) {
  const auto size = values_.append(count, out);
  if (digits_ && bytes_of(header_.type) >= sizeof(float) && header_.type != element_type::f32)
    for (size_t i = 0; i < size && digits_->wants_more(); ++i)
      digits_->add(watched_++ % column_count_, values_.number(i));
  return size;
}

void array_rows::read_mixed(uint64_t count, table_chunk& out) {
  while (count > 0) {
    block_.clear();
    const auto size = append(count, block_);
    split_block(size, out);
    count -= size;
  }
}

void array_rows::split_block(size_t count, table_chunk& out) {
  for (size_t i = 0; i < count;) {
    const bool has_target = next_target_ < targets_.size();
    const auto stop = has_target ? targets_[next_target_].column : column_count_;
    const auto run = std::min<uint64_t>(stop - column_, count - i);
    const auto begin = block_.begin() + static_cast<ptrdiff_t>(i);
    out.features.insert(out.features.end(), begin, begin + static_cast<ptrdiff_t>(run));
    i += run;
    column_ += run;
    if (has_target && i < count && column_ == stop) {
      keep_target(i++, out);
      ++column_;
    }
    if (column_ == column_count_) {
      column_ = 0;
      next_target_ = 0;
    }
  }
}

void array_rows::keep_target(size_t i, table_chunk& out) {
  auto& cells = out.target_cells;
  if (next_target_ == 0) {
    cells.resize(cells.size() + targets_.size());
    out.target_numbers.resize(cells.size());
  }
  const auto place = cells.size() - targets_.size() + targets_[next_target_].slot;
  cells[place] = values_.text(i);
  out.target_numbers[place] = values_.number(i);
  ++next_target_;
}

namespace {

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

/// Of the features and their names, by the header: a compressed file may promise anything.
uint64_t saturated_bytes(const array_rows& rows) {
  return saturated_sum(saturated_product(rows.row_count(), rows.column_count() * sizeof(float)),
                       rows.column_count() * sizeof(std::string));
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
  result.row_count = rows.row_count();
  result.feature_count = rows.column_count() - (labels.empty() ? 1 : 0);
  table_chunk all;
  if (rows.size_known()) {
    reserve_large(all.features, result.row_count * result.feature_count);
    all.target_cells.reserve(rows.row_count());
    all.target_numbers.reserve(rows.row_count());
  }
  rows.read(rows.row_count(), all);
  if (!labels.empty()) {
    array_rows answers(labels, 1);
    require_labels_fit(answers, rows, 1);
    answers.set_targets({0});
    answers.read(answers.row_count(), all);
  }
  result.features = std::move(all.features);
  result.target_cells = std::move(all.target_cells);
  result.target_numbers = std::move(all.target_numbers);
  result.target_name = labels.empty() ? std::to_string(target) : "label";
  for (uint64_t column = 0; column < rows.column_count(); ++column)
    if (column != target)
      result.feature_names.push_back(std::to_string(column));
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
  rows_.read(count, out);
  if (labels_)
    labels_->read(count, out);
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
