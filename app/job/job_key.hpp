// A key of a job file: an entry of the table in app/job_schema.hpp.

#pragma once

#include "troupe/app/schema_key.hpp"
#include "troupe/coordinators/job.hpp"

namespace troupe {

using job_key = schema_key<job>;

} // namespace troupe
