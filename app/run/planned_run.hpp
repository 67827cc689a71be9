// A run as it is planned before it begins, from its file and the shape of its data: for those who ask
// and do not train.

#pragma once

#include "actors/run/job_data.hpp"
#include "app/job/job_file.hpp"
#include "coordinators/parallel/parallel_plan.hpp"

#include <optional>
#include <vector>

namespace troupe {

struct planned_run {
  std::vector<process_plan> processes;     ///< in order of the nodes
  std::optional<parallel_plan> replicas{}; ///< of those that train in step
};

/// Reads the data. Throws failure as the run would: for data that cannot be read, a job that cannot be
/// trained on them, memory that is not there; by the key's place in the file.
planned_run plan_run(const loaded_job& loaded, const cluster_plan& cluster);

} // namespace troupe
