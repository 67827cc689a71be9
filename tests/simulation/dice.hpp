// Everything a simulation draws comes from one of these, so a seed is a whole run; and seeds as people
// write them: "840", or "0..1500", which does not have the last one.

#pragma once

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

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

struct seed_range {
  uint64_t first = 0;
  uint64_t last = 0; ///< the one after the last
};

inline std::optional<uint64_t> read_number(const std::string& text) {
  uint64_t result = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, result);
  return error == std::errc{} && stop == end ? std::optional{result} : std::nullopt;
}

/// Nothing when there is none in it.
inline std::optional<seed_range> read_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const auto first = read_number(text.substr(0, dots));
  const auto last = dots == std::string::npos ? first : read_number(text.substr(dots + 2));
  if (!first || !last)
    return std::nullopt;
  const seed_range result{*first, dots == std::string::npos ? *last + 1 : *last};
  return result.first < result.last ? std::optional{result} : std::nullopt;
}

} // namespace troupe::simulation
