// Going on from a checkpoint: whether it can be one of the job
// (data/checkpoint/checkpoint.hpp).

#pragma once

#include "coordinators/job/job.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/training_rows/prepare.hpp"

#include <optional>
#include <string>

namespace troupe {

/// The first thing in which `x` cannot be a checkpoint of the resolved job; nothing when it can.
/// Names, versions and numerics classes are not looked at.
std::optional<std::string> misfit_of(const checkpoint& x, const job& resolved,
                                     const prepared_data& data);

/// Throws failure(bad_data) when there is a checkpoint and it does not fit.
void require_fit(const std::optional<checkpoint>& x, const job& resolved,
                 const prepared_data& data);

} // namespace troupe
