// How much memory training takes beside its data: told before it starts, and refused by name when
// there is not so much, instead of ending in the middle.
//
// With P parameters, s values an optimizer keeps for each, r replicas, h rows of a slice and u
// outputs of all layers, one process holds
//   two versions of the parameters, the optimizer's state      4 (2 + s) P bytes
//   a gradient for each replica and one that is added           4 (r + 1) P
//   outputs, derivatives and masks of a replica's slice         12 r h u
// and of members that train apart each has a model and a state of its own. Solvers keep a square
// matrix of doubles instead.

#pragma once

#include "troupe/coordinators/job/job_problem.hpp"
#include "troupe/coordinators/job/resolve.hpp"

#include <cstdint>
#include <optional>

namespace troupe {

struct memory_need {
  uint64_t parameter_count = 0;
  uint64_t least_bytes = 0;  ///< two versions and one gradient: no step works with less
  uint64_t likely_bytes = 0; ///< all of the above, when one process does everything
};

/// Of a resolved job. Sizes that cannot be counted are the largest number.
memory_need memory_of(const job& resolved, const data_shape& shape);

/// Why the job cannot be trained with so much memory; nothing when it may be.
std::optional<job_problem> memory_problem(const memory_need& need, uint64_t available_bytes);

/// Values that a job's optimizer keeps for each parameter.
uint64_t optimizer_value_count(const optimizer_options& x);

/// "1.2 GiB", "640 KiB": three digits at most.
std::string bytes_text(uint64_t bytes);

} // namespace troupe
