// What `troupe train` tells a person about a run that ended.

#pragma once

#include "troupe/data/records/training_record.hpp"

#include <string>

namespace troupe {

/// A few lines of name and value; figures that were not measured are left out.
std::string run_report(const training_summary& summary);

} // namespace troupe
