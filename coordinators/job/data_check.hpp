// What is wrong with what a job says of its data, seen without them.

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/job/job_problem.hpp"

namespace troupe {

/// Adds everything wrong with `x` to `check`, in the order of its fields. `rows_elsewhere`: another section
/// names them.
void check_data(problem_list& check, const data_options& x, bool rows_elsewhere);

} // namespace troupe
