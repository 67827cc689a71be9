#include "data/training_rows/batch_reader.hpp"

#include "data/training_rows/prepare.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// How far ahead memory is asked for: 4 KiB, 64 lines, about as many as a core waits for at once.
/// Half or twice as much makes no difference that could be measured.
constexpr size_t floats_ahead = 1024;
constexpr size_t floats_of_line = 16;

// Rows lie anywhere, so the processor cannot know which comes next. A row may begin within a line.
void ask_for(const float* row, size_t width) {
  for (size_t i = 0; i < width; i += floats_of_line)
    __builtin_prefetch(row + i);
  if (width > 0)
    __builtin_prefetch(row + width - 1);
}

// Copies the `width` floats that begin at `begin_of(row)` for each of `rows`.
template <class BeginOf>
void gather_rows(BeginOf begin_of, size_t width, std::span<const uint32_t> rows,
                 std::span<float> out) {
  if (width == 0)
    return;
  const auto ahead = std::max<size_t>(floats_ahead / width, 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size())
      ask_for(begin_of(rows[i + ahead]), width);
    std::copy_n(begin_of(rows[i]), width, out.data() + i * width);
  }
}

/// Dense values of a row.
size_t width_of(const dataset& source) {
  return source.is_sparse() ? 0 : source.feature_count;
}

// Room for `count` values; what was there is not kept.
template <class T>
std::span<T> first(std::vector<T>& memory, size_t count) {
  if (memory.size() < count)
    memory.resize(count);
  return std::span{memory}.first(count);
}

} // namespace

batch batch_of_rows(const dataset& source, size_t begin, size_t count) {
  batch result;
  result.row_count = count;
  result.first_row = begin;
  const auto features = source.lent.exist() ? source.lent.values : std::span{source.features};
  result.features = features.subspan(begin * width_of(source), count * width_of(source));
  result.sparse = source.sparse.rows(begin, count);
  if (source.is_classification())
    result.labels = std::span{source.labels}.subspan(begin, count);
  else
    result.targets =
      std::span{source.targets}.subspan(begin * source.target_count, count * source.target_count);
  if (!source.weights.empty())
    result.weights = std::span{source.weights}.subspan(begin, count);
  return result;
}

void ask_for_rows(const dataset& source, std::span<const uint32_t> rows) {
  const auto width = width_of(source);
  const auto count = std::max<size_t>(floats_ahead / std::max<size_t>(width, 1), 1);
  for (const auto row : rows.first(std::min(rows.size(), count))) {
    if (width > 0)
      ask_for(source.row(row).data(), std::min(width, floats_ahead));
    if (source.is_classification())
      __builtin_prefetch(source.labels.data() + row);
    else
      ask_for(source.targets.data() + row * source.target_count, source.target_count);
  }
}

batch batch_reader::space::rows() const {
  batch result;
  result.row_count = numbers.size();
  result.row_numbers = numbers;
  result.features = features;
  result.labels = labels;
  result.targets = targets;
  result.weights = weights;
  return result;
}

batch_reader::space batch_reader::room(size_t row_count, size_t feature_count, size_t target_count,
                                       bool weighted) {
  return {first(numbers_, row_count), first(features_, row_count * feature_count),
          first(labels_, target_count == 0 ? row_count : 0),
          first(targets_, row_count * target_count), first(weights_, weighted ? row_count : 0)};
}

batch batch_reader::gather(const dataset& source, std::span<const uint32_t> rows,
                           const standardization* map) {
  const auto out =
    room(rows.size(), width_of(source), source.target_count, !source.weights.empty());
  copy_values(rows, out.numbers.begin());
  gather_rows([&](uint32_t row) { return source.row(row).data(); }, width_of(source), rows,
              out.features);
  if (map)
    standardize(*map, out.features);
  if (source.is_classification())
    for (size_t i = 0; i < rows.size(); ++i)
      out.labels[i] = source.labels[rows[i]];
  else
    gather_rows([&](uint32_t row) { return source.targets.data() + row * source.target_count; },
                source.target_count, rows, out.targets);
  for (size_t i = 0; i < out.weights.size(); ++i)
    out.weights[i] = source.weights[rows[i]];
  auto result = out.rows();
  if (source.is_sparse())
    result.sparse = look_at(source.sparse, rows);
  return result;
}

sparse_rows batch_reader::look_at(const sparse_matrix& source, std::span<const uint32_t> rows) {
  begins_.clear();
  ends_.clear();
  for (const auto row : rows) {
    begins_.push_back(source.starts[row]);
    ends_.push_back(source.starts[row + 1]);
  }
  return {begins_, ends_, source.features.data(), source.values.data()};
}

batch batch_reader::join(std::span<const batch> parts) {
  size_t row_count = 0;
  for (const auto& part : parts)
    row_count += part.row_count;
  const auto& shape = parts.front();
  const auto out = room(row_count, shape.features.size() / shape.row_count,
                        shape.targets.size() / shape.row_count, !shape.weights.empty());
  size_t row = 0;
  const auto append = [&](auto values, auto to) {
    copy_values(values, to.begin() + static_cast<std::ptrdiff_t>(row * to.size() / row_count));
  };
  for (const auto& part : parts) {
    for (size_t i = 0; i < part.row_count; ++i)
      out.numbers[row + i] = static_cast<uint32_t>(part.row_number(i));
    append(part.features, out.features);
    append(part.labels, out.labels);
    append(part.targets, out.targets);
    append(part.weights, out.weights);
    row += part.row_count;
  }
  return out.rows();
}

} // namespace troupe
