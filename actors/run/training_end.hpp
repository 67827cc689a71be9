// The end of a run: from the director's last word to the result an application is handed. Shared by
// `train`, where all is in one process, and by the director's process of a cluster.

#pragma once

#include "troupe/actors/protocol/messages.hpp"
#include "troupe/actors/run/training_result.hpp"
#include "troupe/coordinators/job/job.hpp"
#include "troupe/data/training_rows/prepare.hpp"
#include "troupe/models/network/model.hpp"

#include <caf/fwd.hpp>

#include <memory>

namespace troupe {

/// Throws the failure that ended a run, if one did.
void throw_if_failed(const training_finished& finished);

/// The final parameters, once the run is finished. Throws failure(internal) when they do not come.
stored_tensor pull_parameters(caf::scoped_actor& self, const director_actor& director);

/// What was learned, with its figures. `resolved` counts all replicas of the run.
training_result result_of(const job& resolved, std::shared_ptr<const prepared_data> data,
                          const model& network, const stored_tensor& parameters,
                          training_finished&& finished);

} // namespace troupe
