// From a TOML file, the environment and `--set` options to a job. Later ones win:
// file < TROUPE_SECTION__KEY < --set section.key=value.

#pragma once

#include "app/job/job_errors.hpp"
#include "app/toml/override.hpp"
#include "coordinators/job/job.hpp"

#include <string>
#include <vector>

namespace troupe {

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

/// Called while `error` is caught. What `train` says of a job once it has seen the data names a
/// key, or the data file that cannot be read: here the place where that was set stands as well, as
/// for everything that is found without data. Other failures are thrown on as they are.
[[noreturn]] void throw_with_place(const failure& error, const loaded_job& x);

} // namespace troupe
