// The metrics of a job: all are judged in one pass over a chunk's predictions.
//
//   rows --judge--> metric_sums --add_to, in the order of chunks--> totals --add_figures--> "test_auc"

#pragma once

#include "models/kinds/metric_kinds.hpp"
#include "models/metrics/metric.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class metric_set {
public:
  static constexpr size_t sum_count_max = size_t{1} << 22; ///< 32 MiB

  metric_set() = default; ///< none
  /// Throws std::invalid_argument, with the metric's name, for one that there is not or that does not
  /// fit, and for metrics of too many sums.
  metric_set(const std::vector<std::string>& names, const metric_input& input);

  bool empty() const { return metrics_.empty(); }
  size_t sum_count() const { return sum_count_; }

  /// Sums over these rows, with a pass of their own through the model.
  metric_sums judge(const model& network, std::span<const float> parameters, const batch& rows,
                    workspace& memory) const;

  /// Adds a figure of each metric to `out`, by a name such as "test_macro_f1". `totals`: S; empty where
  /// nothing was judged.
  void add_figures(const std::string& part, std::span<const double> totals,
                   metric_figures& out) const;

private:
  struct named_metric {
    std::string column; ///< behind the part
    std::shared_ptr<const metric> rule;
    size_t first_sum;
  };

  std::vector<named_metric> metrics_;
  size_t sum_count_ = 0;
};

} // namespace troupe
