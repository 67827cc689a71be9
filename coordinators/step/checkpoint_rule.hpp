// Checkpoint rule: which versions of a run go to checkpoints. Owners of spans and the director apply it alike, so each
// knows without asking what the others copy.

#pragma once

#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/timeline.hpp"

#include <cstdint>

namespace troupe {

/// In place of the steps between checkpoints: the only one is that of the version at which a run is stopped.
inline constexpr uint64_t checkpoint_at_stop = UINT64_MAX;

/// `every`: steps between checkpoints; 0: none. The end of training has one too; with `checkpoint_at_stop` an end
/// before the plan's has it alone.
inline bool is_checkpointed(uint64_t version, const horizon_rule& horizon, uint64_t every,
                            const timeline& plan) {
  const bool is_end = horizon.final && version == horizon.version &&
                      (every != checkpoint_at_stop || version < plan.last_version());
  return every > 0 && (is_end || version % every == 0);
}

} // namespace troupe
