// What is wrong with a job, seen without its data: values out of range, and values that contradict
// each other. What does not fit the data is told by `problems_with_data` (resolve.hpp).

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/job/job_problem.hpp"

#include <vector>

namespace troupe {

/// Everything wrong with `x`, in the order of its fields; empty when it can be trained.
std::vector<job_problem> problems(const job& x);

} // namespace troupe
