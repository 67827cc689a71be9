// The keys of section `privacy` of a job file (coordinators/job/private_job.hpp).

#pragma once

#include "troupe/app/job/job_key.hpp"

#include <vector>

namespace troupe {

void add_privacy_keys(std::vector<job_key>& out);

} // namespace troupe
