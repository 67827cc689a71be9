// The environment of a process: variables may set keys of a job, and say which node this is.

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Variables as (name, value); only those like TROUPE_SECTION__KEY matter.
using environment = std::vector<std::pair<std::string, std::string>>;

/// The environment of this process.
environment process_environment();

} // namespace troupe
