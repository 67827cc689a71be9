#include "troupe/models/metrics/regression_metrics.hpp"

#include "troupe/models/base/rounding.hpp"
#include "troupe/models/metrics/prediction_sums.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

// Errors, and how many.
void error_metric::add(const judged_rows& rows, std::span<double> sums) const {
  const default_rounding rounding;
  const auto found =
    compare(rows.predictions, rows.targets, std::max<size_t>(rows.prediction_count(), 1));
  sums[0] += shown_ == figure::mean_absolute ? found.absolute_error_sum : found.squared_error_sum;
  sums[1] += static_cast<double>(found.count);
}

std::optional<double> error_metric::value(std::span<const double> sums) const {
  if (sums[1] == 0)
    return std::nullopt;
  const double mean = sums[0] / sums[1];
  return shown_ == figure::mean_absolute ? mean : std::sqrt(mean);
}

} // namespace troupe
