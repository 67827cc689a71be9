// One main model, trained by many children, each on its own data: `gradients_coordinator` applies their gradients,
// `parameters_coordinator` merges their parameters.
//
// Threads: both are plain objects without locks, for one thread at a time. <troupe/coordinator_actors.hpp> has them
// as actors, for children in other threads and processes.
// Errors: std::invalid_argument for options and sizes that do not fit.

#pragma once

#include "coordinators/modes/gradients_coordinator.hpp"
#include "coordinators/modes/parameters_coordinator.hpp"
