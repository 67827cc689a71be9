// Checks of what a caller hands over: each throws std::invalid_argument that names the refusing part and the fault.
//
//   constexpr requirement require{"schedule"};
//   require(steps > 0, "steps must be positive");                  // "schedule: steps must be positive"
//   constexpr size_check require_size{"loss"};
//   require_size("labels", rows.row_count, rows.labels.size());    // "loss: expected 10 labels, got 9"

#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {

struct requirement {
  const char* who;

  void operator()(bool holds, std::string_view what) const {
    if (!holds)
      throw std::invalid_argument(std::string{who} + ": " + std::string{what});
  }
};

struct size_check {
  const char* who;

  void operator()(const char* what, size_t expected, size_t actual) const {
    if (expected != actual)
      throw std::invalid_argument(std::string{who} + ": expected " + std::to_string(expected) +
                                  ' ' + what + ", got " + std::to_string(actual));
  }
};

} // namespace troupe
