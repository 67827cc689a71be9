// Time as rules see it: an argument. Who calls them reads the clock, a real one or a simulated one.

#pragma once

#include <chrono>

namespace troupe {

/// A point on a clock that never runs backwards; only differences mean anything.
using moment = std::chrono::steady_clock::time_point;

using milliseconds = std::chrono::milliseconds;

} // namespace troupe
