// The plan of a run (coordinators/parallel/parallel_plan.hpp) for people and for scripts.

#pragma once

#include "troupe/coordinators/parallel/parallel_plan.hpp"

#include <string>

namespace troupe {

/// Aligned tables: segments, replicas, processes, and links: of processes, where there are several, else
/// of replicas.
std::string plan_report(const parallel_plan& plan);

/// The same as one JSON object on a line; ranges are [begin, end), bytes in full.
std::string plan_json(const parallel_plan& plan);

} // namespace troupe
