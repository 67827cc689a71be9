#include "troupe/models/training/round_record.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

client_quantiles quantiles_of(std::vector<float> values) {
  if (values.empty())
    return {};
  const auto at = [&](double share) {
    const auto rank = std::ceil(share * static_cast<double>(values.size()));
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
    std::ranges::nth_element(values, place);
    return static_cast<double>(*place);
  };
  return {at(0.1), at(0.5), at(0.9), static_cast<double>(*std::ranges::max_element(values))};
}

} // namespace troupe
