// Everything wrong with a job, at once: a job file is corrected in one pass, not error by error.

#pragma once

#include "troupe/data/text/failure.hpp"

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

} // namespace troupe
