// Everything a simulation draws comes from one of these, so a seed is a whole run.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

namespace troupe::simulation {

using duration = std::chrono::nanoseconds;

class dice {
public:
  explicit dice(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }

  /// One of 0 .. count - 1; `count` >= 1.
  size_t below(size_t count) { return static_cast<size_t>(engine_() % count); }

  /// True in `percent` of 100 cases.
  bool chance(unsigned percent) { return below(100) < percent; }

  /// At least `low`, less than `high`; `low` when they are equal.
  duration between(duration low, duration high) {
    const auto width = static_cast<size_t>((high - low).count());
    return low + duration{width == 0 ? 0 : static_cast<int64_t>(below(width))};
  }

private:
  std::mt19937_64 engine_;
};

} // namespace troupe::simulation
