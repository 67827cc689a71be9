// What a job says of kinds that the application adds to enumerations (models/kinds/added_kinds.hpp): a loss,
// activations, schedules, a merge rule, rules of results.

#pragma once

#include "coordinators/job/job.hpp"
#include "models/kinds/kind_table.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Options become part of the values that they are of. Schedules are settled by `with_steps`.
void settle_added_values(job& x);

/// Options that no kind of the job has, or that are out of its range.
void check_added_values(problem_list& check, const job& x);

/// A kind that a job names.
struct named_kind {
  std::string table; ///< "loss"
  const kind_entry* kind = nullptr;
  component options; ///< every one
  std::string probe; ///< models/kinds/probe.hpp
};

/// Those of a resolved job, each kind with its options once.
std::vector<named_kind> added_values_of(const job& resolved);

/// As processes compare it: "loss quantile 1 = 0123456789abcdef".
std::string probe_line(const std::string& table, const kind_entry& kind, const std::string& probe);

} // namespace troupe
