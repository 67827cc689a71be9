#include "models/metrics/metric.hpp"

#include <algorithm>
#include <functional>

namespace troupe {

bool metric_sums::fits(size_t sum_count) const {
  return places.size() == values.size() &&
         std::ranges::adjacent_find(places, std::greater_equal<>{}) == places.end() &&
         (places.empty() || places.back() < sum_count) &&
         std::ranges::all_of(values, [](double x) { return x != 0; });
}

void metric_sums::add_to(std::span<double> totals) const {
  for (size_t i = 0; i < places.size(); ++i)
    totals[places[i]] += values[i];
}

} // namespace troupe
