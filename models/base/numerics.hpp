// What this machine's arithmetic does, as a short name: the numerics class.
//
// Two machines of one class train the same job to the same bits. Our own arithmetic is the same
// everywhere; matrix products are OpenBLAS's, which has a kernel for each processor type. The class
// is a fingerprint of what a fixed set of computations gives here, so it names the behaviour, not
// the processor.

#pragma once

#include <string>

namespace troupe {

/// The class: 16 hexadecimal digits. Computed once, takes a few milliseconds.
std::string numerics_class();

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
  unsigned control_before_;
  int direction_before_;
};

} // namespace troupe
