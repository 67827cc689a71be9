#include "models/base/batch.hpp"

namespace troupe {

namespace {

template <class T>
std::span<const T> rows_of(std::span<const T> values, size_t row_count, size_t begin,
                           size_t count) {
  if (values.empty())
    return {};
  const auto width = values.size() / row_count;
  return values.subspan(begin * width, count * width);
}

} // namespace

batch part_of(const batch& rows, size_t begin, size_t count) {
  auto result = rows;
  result.row_count = count;
  result.features = rows_of(rows.features, rows.row_count, begin, count);
  result.labels = rows_of(rows.labels, rows.row_count, begin, count);
  result.targets = rows_of(rows.targets, rows.row_count, begin, count);
  result.weights = rows_of(rows.weights, rows.row_count, begin, count);
  if (rows.sparse.row_count() > 0) {
    result.sparse.begins = rows.sparse.begins.subspan(begin, count);
    result.sparse.ends = rows.sparse.ends.subspan(begin, count);
  }
  result.first_row = rows.first_row + (rows.row_numbers.empty() ? begin : 0);
  result.row_numbers = rows_of(rows.row_numbers, rows.row_count, begin, count);
  return result;
}

} // namespace troupe
