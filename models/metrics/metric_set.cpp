#include "models/metrics/metric_set.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

metric_set::metric_set(const std::vector<std::string>& names, const metric_input& input) {
  for (const auto& name : names) {
    try {
      std::shared_ptr<const metric> rule = metrics().make({name, {}}, input);
      if (!rule || rule->sum_count() == 0)
        throw std::invalid_argument("its factory makes none");
      auto column = name;
      std::ranges::replace(column, '-', '_');
      metrics_.push_back({column, rule, sum_count_});
      sum_count_ += rule->sum_count();
      if (rule->sum_count() > sum_count_max || sum_count_ > sum_count_max)
        throw std::invalid_argument("there are too many classes for it");
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(name + ": " + problem.what());
    }
  }
}

metric_sums metric_set::judge(const model& network, std::span<const float> parameters,
                              const batch& rows, workspace& memory) const {
  std::vector<float> predictions(rows.row_count * network.prediction_count());
  network.predict(parameters, rows, predictions, memory);
  const judged_rows judged{rows.row_count, predictions, rows.labels, rows.targets};
  std::vector<double> sums(sum_count_);
  for (const auto& x : metrics_)
    x.rule->add(judged, std::span{sums}.subspan(x.first_sum, x.rule->sum_count()));
  metric_sums result;
  for (size_t i = 0; i < sums.size(); ++i)
    if (sums[i] != 0) {
      result.places.push_back(static_cast<uint32_t>(i));
      result.values.push_back(sums[i]);
    }
  return result;
}

void metric_set::add_figures(const std::string& part, std::span<const double> totals,
                             metric_figures& out) const {
  for (const auto& x : metrics_)
    out[part + '_' + x.column] =
      totals.empty() ? std::nullopt
                     : x.rule->value(totals.subspan(x.first_sum, x.rule->sum_count()));
}

} // namespace troupe
