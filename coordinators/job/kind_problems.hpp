// What is wrong with kinds that an application adds (models/kinds/kind_table.hpp), and what does not go
// with them.

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/job/job_bounds.hpp"

namespace troupe {

/// Adds the problems that a job has with its own model and optimizer.
void check_kinds(problem_list& check, const job& x);

} // namespace troupe
