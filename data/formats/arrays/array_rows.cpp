#include "data/formats/arrays/array_rows.hpp"

#include "data/formats/arrays/array_header.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <limits>

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

void array_targets::clear() {
  cells.clear();
  numbers.clear();
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

void array_rows::read(uint64_t count, std::vector<float>& features, array_targets& targets) {
  const auto value_count = count * column_count_;
  if (!targets_.empty())
    read_mixed(value_count, features, targets);
  else
    for (uint64_t left = value_count; left > 0;)
      left -= append(left, features);
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

void array_rows::read_mixed(uint64_t count, std::vector<float>& features, array_targets& targets) {
  while (count > 0) {
    block_.clear();
    const auto size = append(count, block_);
    split_block(size, features, targets);
    count -= size;
  }
}

void array_rows::split_block(size_t count, std::vector<float>& features, array_targets& targets) {
  for (size_t i = 0; i < count;) {
    const bool has_target = next_target_ < targets_.size();
    const auto stop = has_target ? targets_[next_target_].column : column_count_;
    const auto run = std::min<uint64_t>(stop - column_, count - i);
    const auto begin = block_.begin() + static_cast<ptrdiff_t>(i);
    features.insert(features.end(), begin, begin + static_cast<ptrdiff_t>(run));
    i += run;
    column_ += run;
    if (has_target && i < count && column_ == stop) {
      keep_target(i++, targets);
      ++column_;
    }
    if (column_ == column_count_) {
      column_ = 0;
      next_target_ = 0;
    }
  }
}

void array_rows::keep_target(size_t i, array_targets& targets) {
  if (next_target_ == 0) {
    targets.cells.resize(targets.cells.size() + targets_.size());
    targets.numbers.resize(targets.cells.size());
  }
  const auto place = targets.cells.size() - targets_.size() + targets_[next_target_].slot;
  targets.cells[place] = values_.text(i);
  targets.numbers[place] = values_.number(i);
  ++next_target_;
}

} // namespace troupe
