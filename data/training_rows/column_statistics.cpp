#include "data/training_rows/column_statistics.hpp"

namespace troupe {

column_statistics operator+(const column_statistics& a, const column_statistics& b) {
  if (a.row_count == 0 || b.row_count == 0)
    return a.row_count == 0 ? b : a;
  column_statistics result = a;
  result.row_count += b.row_count;
  const auto share = static_cast<double>(b.row_count) / static_cast<double>(result.row_count);
  const auto weight = static_cast<double>(a.row_count) * share;
  for (size_t j = 0; j < a.means.size(); ++j) {
    const double difference = b.means[j] - a.means[j];
    result.means[j] = a.means[j] + difference * share;
    result.squares[j] = a.squares[j] + b.squares[j] + difference * difference * weight;
  }
  return result;
}

column_statistics column_statistics_of(std::span<const float> rows, size_t feature_count) {
  column_statistics result;
  result.row_count = rows.size() / feature_count;
  result.means.assign(feature_count, 0);
  result.squares.assign(feature_count, 0);
  for (size_t i = 0; i < rows.size(); i += feature_count)
    for (size_t j = 0; j < feature_count; ++j)
      result.means[j] += rows[i + j];
  for (auto& mean : result.means)
    mean /= static_cast<double>(result.row_count);
  for (size_t i = 0; i < rows.size(); i += feature_count)
    for (size_t j = 0; j < feature_count; ++j) {
      const double difference = rows[i + j] - result.means[j];
      result.squares[j] += difference * difference;
    }
  return result;
}

} // namespace troupe
