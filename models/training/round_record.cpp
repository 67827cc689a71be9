#include "models/training/round_record.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe {

namespace {

// The mean over the tenth of the values that come first.
template <class Before>
double mean_of_tenth(std::vector<float> values, Before before) {
  const auto count = (values.size() + 9) / 10;
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(values.begin(), end, values.end(), before);
  double sum = 0;
  for (auto i = values.begin(); i != end; ++i)
    sum += static_cast<double>(*i);
  return sum / static_cast<double>(count);
}

} // namespace

client_quantiles quantiles_of(std::vector<float> values) {
  if (values.empty())
    return {};
  const auto at = [&](double share) {
    const auto rank = std::ceil(share * static_cast<double>(values.size()));
    return values.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  };
  // Each looks at what the ones before it left on its side.
  const auto p10 = at(0.1), p50 = at(0.5), p90 = at(0.9);
  std::nth_element(values.begin(), p50, values.end());
  std::nth_element(values.begin(), p10, p50);
  std::nth_element(std::min(p50 + 1, p90), p90, values.end());
  return {*p10, *p50, *p90, *std::max_element(p90, values.end())};
}

client_evaluation evaluation_of(const std::vector<float>& losses,
                                const std::vector<float>& accuracies, uint64_t rows) {
  client_evaluation result;
  result.clients = losses.size();
  result.rows = rows;
  if (losses.empty())
    return result;
  result.losses = quantiles_of(losses);
  result.worst_tenth_loss = mean_of_tenth(losses, std::greater{});
  if (!accuracies.empty()) {
    result.accuracies = quantiles_of(accuracies);
    result.worst_tenth_accuracy = mean_of_tenth(accuracies, std::less{});
  }
  return result;
}

} // namespace troupe
