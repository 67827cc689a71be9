// Resuming from a checkpoint: checks that it belongs to the job (data/checkpoint/checkpoint.hpp).

#pragma once

#include "coordinators/job/job.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/training_rows/prepare.hpp"

#include <optional>
#include <string>

namespace troupe {

/// Why `x` cannot be a checkpoint of the resolved job; nothing when it can. Does not check names,
/// versions and numerics classes.
std::optional<std::string> misfit_of(const checkpoint& x, const job& resolved,
                                     const prepared_data& data);

/// Throws failure(bad_data) when there is a checkpoint and it does not fit.
void require_fit(const std::optional<checkpoint>& x, const job& resolved,
                 const prepared_data& data);

} // namespace troupe
