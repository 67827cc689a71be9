// One thing that is wrong with a job, in words for people.

#pragma once

#include <string>

namespace troupe {

/// One thing wrong with a job: the key as a job file spells it, why, and what to do.
struct job_problem {
  std::string key;
  std::string why;
  std::string hint;

  friend bool operator==(const job_problem&, const job_problem&) = default;
};

} // namespace troupe
