// Time as rules see it: an argument. Their callers read the clock, a real or a simulated one.

#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

/// A point on a clock that never runs backwards; only differences mean anything.
using moment = std::chrono::steady_clock::time_point;

using milliseconds = std::chrono::milliseconds;

/// Since the clock's begin; what clocks of several processes are compared by.
inline uint64_t nanoseconds_of(moment x) {
  return static_cast<uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(x.time_since_epoch()).count());
}

} // namespace troupe
