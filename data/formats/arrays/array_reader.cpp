#include "troupe/data/formats/arrays/array_reader.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

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
