#include "models/math/tree_accumulator.hpp"

namespace troupe {

std::vector<double> totals_of_blocks(std::span<const double> numbers, size_t count) {
  std::vector<double> result;
  for (size_t k = 0; k < count; ++k) {
    tree_accumulator<double> total;
    for (size_t at = k; at < numbers.size(); at += count)
      total.push(numbers[at]);
    result.push_back(total.total());
  }
  return result;
}

} // namespace troupe
