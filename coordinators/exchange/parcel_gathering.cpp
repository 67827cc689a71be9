#include "troupe/coordinators/exchange/parcel_gathering.hpp"

#include <algorithm>

namespace troupe {

bool parcel_gathering::offer(size_t vector, const index_range& elements) {
  if (vector >= vector_count_ || elements.begin >= elements.end || elements.end > vector_size_)
    return false;
  const auto first = vector * vector_size_;
  return here_.add({first + elements.begin, first + elements.end});
}

index_range parcel_gathering::part_in(const index_range& range, size_t vector, size_t vector_size) {
  const auto first = vector * vector_size;
  const auto begin = std::clamp(range.begin, first, first + vector_size) - first;
  const auto end = std::clamp(range.end, first, first + vector_size) - first;
  return {begin, std::max(begin, end)};
}

} // namespace troupe
