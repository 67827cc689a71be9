// The time of day as the page counts it.

#pragma once

#include <chrono>

namespace troupe {

/// Seconds since the epoch of UNIX.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace troupe
