// Metrics of regressions, over all targets of all rows: mae is the mean absolute error, rmse the root of
// the mean squared one.

#pragma once

#include "troupe/models/metrics/metric.hpp"

namespace troupe {

class error_metric final : public metric {
public:
  enum class figure : uint8_t { mean_absolute, root_mean_squared };

  explicit error_metric(figure shown) : shown_(shown) {}

  size_t sum_count() const override { return 2; }
  void add(const judged_rows& rows, std::span<double> sums) const override;
  std::optional<double> value(std::span<const double> sums) const override;

private:
  figure shown_;
};

} // namespace troupe
