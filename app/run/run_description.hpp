// What a run is about to learn, from what, and how: printed before training, so that the user sees
// a wrong guess before it costs hours. A function of the job and its data; it reads no files.

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/training_rows/prepare.hpp"

#include <string>
#include <vector>

namespace troupe {

struct run_description {
  std::string text;                  ///< whole lines, the first word says what each is about
  std::vector<std::string> warnings; ///< one a line, without break: guesses that rest on little
};

/// Of the job as the user gave it, resolved for a machine with `core_count` cores; it has no
/// problems with its data.
run_description describe_run(const job& x, const prepared_data& data, size_t core_count,
                             const run_place& where = {});

} // namespace troupe
