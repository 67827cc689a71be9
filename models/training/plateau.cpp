#include "troupe/models/training/plateau.hpp"

#include "troupe/models/math/elementary.hpp"

#include <algorithm>

namespace troupe {

double plateau_factor(const plateau_options& options, std::span<const uint64_t> reductions,
                      uint64_t t) {
  const auto passed = std::ranges::upper_bound(reductions, t) - reductions.begin();
  return elementary::power(options.factor, static_cast<uint64_t>(passed));
}

} // namespace troupe
