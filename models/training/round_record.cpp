#include "troupe/models/training/round_record.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

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

} // namespace troupe
