// A key of a job file: an entry of the table in app/job/job_schema.hpp.

#pragma once

#include "troupe/app/toml/schema_key.hpp"
#include "troupe/coordinators/job/job.hpp"

namespace troupe {

using job_key = schema_key<job>;

} // namespace troupe
