#include "troupe/data/training_rows/batch_reader.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// How far ahead memory is asked for: 4 KiB, 64 lines, about as many as a core waits for at once.
/// Half or twice as much makes no difference that could be measured.
constexpr size_t floats_ahead = 1024;
constexpr size_t floats_of_line = 16;

// Rows lie anywhere, so the processor cannot know which comes next.
void ask_for(const float* row, size_t width) {
  for (size_t i = 0; i < width; i += floats_of_line)
    __builtin_prefetch(row + i);
}

// Copies `width` floats for each of `rows` out of `source`.
void gather_rows(const std::vector<float>& source, size_t width, std::span<const uint32_t> rows,
                 std::vector<float>& out) {
  out.resize(std::max(out.size(), rows.size() * width));
  const auto ahead = std::max<size_t>(floats_ahead / std::max<size_t>(width, 1), 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size())
      ask_for(source.data() + rows[i + ahead] * width, width);
    std::copy_n(source.data() + rows[i] * width, width, out.data() + i * width);
  }
}

} // namespace

batch batch_of_rows(const dataset& source, size_t begin, size_t count) {
  batch result;
  result.row_count = count;
  result.first_row = begin;
  result.features =
    std::span{source.features}.subspan(begin * source.feature_count, count * source.feature_count);
  if (source.is_classification())
    result.labels = std::span{source.labels}.subspan(begin, count);
  else
    result.targets =
      std::span{source.targets}.subspan(begin * source.target_count, count * source.target_count);
  return result;
}

batch batch_reader::gather(const dataset& source, std::span<const uint32_t> rows) {
  batch result;
  result.row_count = rows.size();
  numbers_.assign(rows.begin(), rows.end());
  result.row_numbers = numbers_;
  gather_rows(source.features, source.feature_count, rows, features_);
  result.features = std::span{features_}.first(rows.size() * source.feature_count);
  if (source.is_classification()) {
    labels_.resize(std::max(labels_.size(), rows.size()));
    for (size_t i = 0; i < rows.size(); ++i)
      labels_[i] = source.labels[rows[i]];
    result.labels = std::span{labels_}.first(rows.size());
  } else {
    gather_rows(source.targets, source.target_count, rows, targets_);
    result.targets = std::span{targets_}.first(rows.size() * source.target_count);
  }
  return result;
}

} // namespace troupe
