// What is wrong with kinds that an application adds (models/kinds/kind_table.hpp), and what does not go
// with them.

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/job/job_problem.hpp"

#include <string_view>

namespace troupe {

/// Figures that every history has beside its metrics: no metric has such a name.
bool is_always_told(std::string_view metric);

/// Adds the problems that a job has with its own model and optimizer, and with its metrics.
void check_kinds(problem_list& check, const job& x);

} // namespace troupe
