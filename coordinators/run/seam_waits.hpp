// Seam waits: who makes the others of a group wait, where a model is split.
//
// Members of a group stand idle in the middle of a step, until a piece of another comes. Who hands in
// its gradient last says nothing there: in a pipeline that is always the first stage. So each member
// counts itself how long it stood idle and whose piece ended that:
//
// A member in the middle of a chain hands waits on: what others waited for it is its own fault by as
// much as it exceeds what it waited itself.

#pragma once

#include "troupe/coordinators/run/replica_statistics.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace troupe {

struct seam_wait {
  replica_name whom;
  uint64_t count = 0;
  std::chrono::nanoseconds time{0};
  std::chrono::nanoseconds longest{0};

  friend bool operator==(const seam_wait&, const seam_wait&) = default;
};

/// What a member did and whom it waited for, by its own clock.
struct seam_waits {
  std::chrono::nanoseconds computed{0};
  std::vector<seam_wait> waits{}; ///< in the order of the first

  void add(const replica_name& whom, std::chrono::nanoseconds time);

  friend bool operator==(const seam_waits&, const seam_waits&) = default;
};

/// What a member told, and in how many steps it had work.
struct told_waits {
  replica_name who;
  uint64_t steps = 0;
  seam_waits waits;
};

/// Members' own figures take the place of what was seen from outside; a wait for a member counts as
/// its being last. Waits for who is not among `told` any more are nobody's.
void count_waits(std::vector<named_statistics>& figures, const std::vector<told_waits>& told);

} // namespace troupe
