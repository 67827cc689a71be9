#include "models/metrics/threshold.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace troupe {

size_t decided_class(std::span<const float> probabilities,
                     const std::optional<decision_threshold>& threshold) {
  if (threshold && probabilities.size() == 2)
    return probabilities[threshold->label] >= threshold->probability ? threshold->label
                                                                     : 1 - threshold->label;
  return static_cast<size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

namespace {

/// More is better; nothing where a threshold is out of question.
std::optional<double> merit(const threshold_options& x, double right, double alarms,
                            double missed) {
  switch (x.threshold) {
  case threshold_kind::none:
    break;
  case threshold_kind::f1:
    return 2 * right / (2 * right + alarms + missed);
  case threshold_kind::precision:
    return right > 0 && right >= x.precision * (right + alarms) ? std::optional{right}
                                                                : std::nullopt;
  case threshold_kind::cost:
    return -(x.cost * missed + alarms);
  }
  return std::nullopt;
}

} // namespace

std::optional<decision_threshold> best_threshold(const threshold_options& options, size_t label,
                                                 std::span<const float> probabilities,
                                                 std::span<const int32_t> labels) {
  std::vector<std::pair<float, bool>> rows; // probability of the class, and whether a row is of it
  double missed = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool is_of_class = static_cast<size_t>(labels[i]) == label;
    rows.emplace_back(probabilities[2 * i + label], is_of_class);
    missed += is_of_class ? 1 : 0;
  }
  std::ranges::sort(rows, std::greater{}, &std::pair<float, bool>::first);
  std::optional<decision_threshold> result;
  auto best = -std::numeric_limits<double>::infinity();
  double right = 0, alarms = 0;
  const bool there_are_some = missed > 0;
  for (size_t i = 0; i < rows.size() && there_are_some; ++i) {
    const auto& [probability, is_of_class] = rows[i];
    right += is_of_class ? 1 : 0;
    missed -= is_of_class ? 1 : 0;
    alarms += is_of_class ? 0 : 1;
    if (i + 1 < rows.size() && rows[i + 1].first == probability)
      continue; // rows of one probability are decided alike
    if (const auto found = merit(options, right, alarms, missed); found && *found > best) {
      best = *found;
      result = decision_threshold{label, probability};
    }
  }
  return result;
}

} // namespace troupe
