// A contract test for an application's own kinds in real training: one to three replicas train a job with them, and all
// runs must end with the same bits. models/verify/verify.hpp tests a kind alone.

#pragma once

#include "coordinators/job/job.hpp"
#include "models/verify/verify.hpp"

#include <caf/fwd.hpp>

#include <vector>

namespace troupe {

/// Trains `x` on the threads of `system`: twice with one replica, then with two and three. `x` must be synchronous or
/// merge members (`training.strategy = "parameters"`). It gets at least three slices unless it names their number.
/// Returns nothing when all runs end with the same parameters. The test finds kinds that keep state between calls, or
/// share it between threads, only by chance: use several threads, and some hundred steps. Throws what `train` throws.
std::vector<finding> verify_in_company(caf::actor_system& system, const job& x);

} // namespace troupe
