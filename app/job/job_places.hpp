// Places of keys, for errors: where in which file, or by what else, a key of a job was set.

#pragma once

#include "troupe/app/job/job_errors.hpp"
#include "troupe/coordinators/job/job_problem.hpp"
#include "troupe/models/keys/toml_value.hpp"

#include <map>
#include <string>

namespace troupe {

/// "file:line:column"; what is unknown counts as 1.
std::string place_text(const std::string& path, source_position at);

/// Where the keys of a job were set: "file:line:column", "--set key=..." or "environment NAME".
struct job_places {
  std::string file; ///< the job file
  std::map<std::string, std::string> by_key;

  /// The place of a key, or the nearest section that the file has, or else the file's beginning.
  std::string of(std::string key) const;
};

/// The problem as an error that says where its key was set.
job_error error_at(const job_problem& problem, const job_places& places);

} // namespace troupe
