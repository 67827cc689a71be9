// The keys of a learning-rate schedule: `optimizer.schedule` and the schedules inside its `then`
// and `parts`.

#pragma once

#include "troupe/app/toml/schema_key.hpp"
#include "troupe/models/training/schedule.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Paths are relative to the schedule: "kind", "steps", .., "then".
const std::vector<schema_key<schedule_options>>& schedule_schema();

/// An inline TOML table of every key of a schedule.
std::string toml_text(const schedule_options& schedule);

} // namespace troupe
