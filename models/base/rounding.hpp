// The state of the processor that sums and products depend on: the direction of rounding, and what becomes of subnormal
// numbers.

#pragma once

namespace troupe {

/// While one lives, the calling thread rounds to nearest and neither flushes nor ignores subnormal
/// numbers; what was set before comes back after it. Hosts built with -ffast-math change this, and
/// threads begin with what their maker had set. Actors have one around all they do
/// (actors/base/guard.hpp), functions that compute on a caller's thread one of their own.
class default_rounding {
public:
  default_rounding();
  ~default_rounding();
  default_rounding(const default_rounding&) = delete;
  default_rounding& operator=(const default_rounding&) = delete;

private:
  unsigned long control_before_;
  int direction_before_;
};

} // namespace troupe
