#include "troupe/data/table/target_squares.hpp"

namespace troupe {

double total_squares(const dataset& rows) {
  if (rows.is_classification() || rows.row_count == 0)
    return 0;
  double total = 0;
  for (size_t t = 0; t < rows.target_count; ++t) {
    double mean = 0;
    for (size_t i = 0; i < rows.row_count; ++i)
      mean += rows.targets[i * rows.target_count + t];
    mean /= static_cast<double>(rows.row_count);
    for (size_t i = 0; i < rows.row_count; ++i) {
      const double difference = rows.targets[i * rows.target_count + t] - mean;
      total += difference * difference;
    }
  }
  return total;
}

} // namespace troupe
