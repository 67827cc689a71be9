// Everything wrong with a job, at once: a job file is corrected in one pass, not error by error. Each error says where in
// which file, or by what else, its key was set.

#pragma once

#include "coordinators/job/job_problem.hpp"
#include "data/text/failure.hpp"
#include "models/keys/toml_value.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe {

/// One error: `where` is "file:line:column", "--set key=..." or "environment NAME".
struct job_error {
  std::string where;
  std::string why;
  std::string hint; ///< what to do; may be empty

  friend bool operator==(const job_error&, const job_error&) = default;
};

/// A failure(bad_job) that carries every error; its text lists all, one a line, in order.
class job_errors : public failure {
public:
  /// `errors` must not be empty. More than 100 are cut short, and the last then says so.
  explicit job_errors(std::vector<job_error> errors);

  const std::vector<job_error>& errors() const noexcept { return errors_; }

private:
  struct checked {
    std::vector<job_error> list;
  };
  explicit job_errors(checked errors);

  std::vector<job_error> errors_;
};

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
