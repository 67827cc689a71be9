// A timed run: real training in virtual time, in which each replica has a speed of its own.

#pragma once

#include "troupe/tests/simulation/kept_company.hpp"

#include <vector>

namespace troupe::simulation {

struct timed_run {
  training_finished finished; ///< its seconds, and those of its history, are virtual
  trainer_figures figures;    ///< none of a synchronous run
};

/// Trains to the end. Replica i needs `row_times[i]` for a row: in each step for its share of the
/// rows when the job is synchronous, else for the rows of a whole step, or of a member's local
/// steps. Adding, updating and evaluating take no time. Throws std::runtime_error when training
/// does not end within an hour.
timed_run train_timed(caf::actor_system& system, const job& x,
                      const std::vector<duration>& row_times);

} // namespace troupe::simulation
