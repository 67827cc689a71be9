// The keys of section `federated` of a job file (coordinators/job/federated_job.hpp).

#pragma once

#include "troupe/app/job/job_key.hpp"

#include <vector>

namespace troupe {

void add_federated_keys(std::vector<job_key>& out);

} // namespace troupe
