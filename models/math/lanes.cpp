#include "models/math/lanes.hpp"

namespace troupe {

TROUPE_MULTIVERSION bool all_finite(const float* values, size_t count) {
  return lane_sum<float>(count, [values](size_t i) { return values[i] * 0.0f; }) == 0;
}

} // namespace troupe
