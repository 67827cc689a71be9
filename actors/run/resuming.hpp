// Resuming from a checkpoint: which ones a run writes, and whether one belongs to the job
// (data/checkpoint/checkpoint.hpp).

#pragma once

#include "coordinators/job/job.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/training_rows/prepare.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// Steps between checkpoints of a run that has a folder for them (coordinators/step/checkpoint_rule.hpp). A solver has
/// no state worth one.
uint64_t checkpoint_every_of(const job& resolved);

/// Why `x` cannot be a checkpoint of the resolved job; nothing when it can. Does not check names,
/// versions and numerics classes.
std::optional<std::string> misfit_of(const checkpoint& x, const job& resolved,
                                     const prepared_data& data);

/// Throws failure(bad_data) when there is a checkpoint and it does not fit.
void require_fit(const std::optional<checkpoint>& x, const job& resolved,
                 const prepared_data& data);

} // namespace troupe
