// Sums and products of sizes that stop at the largest number instead of starting again from 0: for
// comparing a request with what there is.

#pragma once

#include <cstdint>
#include <limits>

namespace troupe {

constexpr uint64_t saturated_product(uint64_t a, uint64_t b) {
  constexpr auto most = std::numeric_limits<uint64_t>::max();
  return a != 0 && b > most / a ? most : a * b;
}

constexpr uint64_t saturated_sum(uint64_t a, uint64_t b) {
  constexpr auto most = std::numeric_limits<uint64_t>::max();
  return b > most - a ? most : a + b;
}

} // namespace troupe
