// From a TOML file, the environment and `--set` options to a job. Later ones win:
// file < TROUPE_SECTION__KEY < --set section.key=value.

#pragma once

#include "troupe/app/job_errors.hpp"
#include "troupe/coordinators/job.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Variables as (name, value); only those like TROUPE_SECTION__KEY matter.
using environment = std::vector<std::pair<std::string, std::string>>;

/// The environment of this process.
environment process_environment();

/// Where the keys of a job were set: "file:line:column", "--set key=..." or "environment NAME".
struct job_places {
  std::string file; ///< the job file
  std::map<std::string, std::string> by_key;

  /// The place of a key, or the nearest section that the file has, or else the file's beginning.
  std::string of(std::string key) const;
};

struct loaded_job {
  job value;
  job_places places;
};

/// The job that the file describes, with everything the user could set filled in: `data.file` is
/// relative to the current folder, the name and the output directory are decided.
///
/// `sets` are the texts after --set, "a.b=value": the value is TOML, or else a string. A relative
/// `data.file` in the environment or in `sets` is relative to the current folder.
///
/// Throws failure(missing_input | no_permission) when the file cannot be read, else job_errors with
/// everything that is wrong, `problems` of the job included. Files above 1 MiB are refused unread.
loaded_job load_job_and_places(const std::string& path, const std::vector<std::string>& sets,
                               const environment& variables);
job load_job(const std::string& path, const std::vector<std::string>& sets,
             const environment& variables);

/// The problem as an error that says where its key was set.
job_error error_at(const job_problem& problem, const job_places& places);

/// Called while `error` is caught. What `train` says of a job once it has seen the data names a
/// key, or the data file that cannot be read: here the place where that was set stands as well, as
/// for everything that is found without data. Other failures are thrown on as they are.
[[noreturn]] void throw_with_place(const failure& error, const loaded_job& x);

} // namespace troupe
