// One thing that is wrong with a job, in words for people.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// One thing wrong with a job: the key as a job file spells it, why, and what to do.
struct job_problem {
  std::string key;
  std::string why;
  std::string hint;

  friend bool operator==(const job_problem&, const job_problem&) = default;
};

/// Collects problems; each check reads as one line of a specification. Views, as most checks hold.
class problem_list {
public:
  void require(bool holds, std::string_view key, std::string_view why, std::string_view hint) {
    if (!holds)
      found.push_back({std::string{key}, std::string{why}, std::string{hint}});
  }

  std::vector<job_problem> found;
};

} // namespace troupe
