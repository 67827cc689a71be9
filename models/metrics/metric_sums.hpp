// What a job's metrics come to: sums on their way to whoever adds them up, and figures for people.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Sums of all metrics of a set over some rows: those that are not 0, by their place.
struct metric_sums {
  std::vector<uint32_t> places; ///< ascending
  std::vector<double> values;   ///< as many

  /// True when they are sums of a set of so many.
  bool fits(size_t sum_count) const;
  void add_to(std::span<double> totals) const;

  friend bool operator==(const metric_sums&, const metric_sums&) = default;
};

/// By column of the history; without a value where it was not measured.
using metric_figures = std::map<std::string, std::optional<double>>;

} // namespace troupe
