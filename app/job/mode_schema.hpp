// The keys of a job file that choose a training mode (coordinators/job/training_modes.hpp):
// strategy, consistency, and what belongs to them.

#pragma once

#include "troupe/app/job/job_key.hpp"

#include <vector>

namespace troupe {

/// Adds training.strategy and training.consistency.
void add_mode_keys(std::vector<job_key>& out);

/// Adds what the modes take beside them: in section training, and all of section merge.
void add_mode_option_keys(std::vector<job_key>& out);

} // namespace troupe
