// A contract test of kinds that an application adds, in their place: a job of theirs, trained by
// companies of one to three replicas, ends with the same bits (models/verify/verify.hpp has the tests of
// a kind alone).

#pragma once

#include "coordinators/job/job.hpp"
#include "models/verify/verify.hpp"

#include <caf/fwd.hpp>

#include <vector>

namespace troupe {

/// Trains `x`, which must be synchronous or merge members (`training.strategy = "parameters"`), on the
/// threads of `system`: with one replica twice, then with two and three, of at least three slices unless
/// the job names their number. Empty when every run ends with the same parameters. Kinds that keep
/// something between calls, or read what others write, are found by chance: use a system of several
/// threads, and jobs of some hundred steps. Throws what `train` throws.
std::vector<finding> verify_in_company(caf::actor_system& system, const job& x);

} // namespace troupe
