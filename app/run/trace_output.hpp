// The file of a run's timeline: opened before the run begins, so that a wrong path is told of at once,
// and written when it has ended, however it did.

#pragma once

#include "troupe/actors/base/trace.hpp"
#include "troupe/data/records/trace_file.hpp"

#include <memory>
#include <optional>
#include <string>

namespace troupe {

class trace_output {
public:
  /// No path: no timeline is wanted. Throws failure as write_file_atomically does.
  explicit trace_output(const std::string& path);
  /// Writes what was recorded, and says so; what goes wrong then is a warning: the run is what counts.
  ~trace_output();
  trace_output(const trace_output&) = delete;
  trace_output& operator=(const trace_output&) = delete;

  /// Null when none is wanted.
  const std::shared_ptr<run_trace>& trace() const { return trace_; }

private:
  std::string path_;
  std::optional<atomic_file> file_;
  std::shared_ptr<run_trace> trace_;
};

/// What a merge came to, in lines.
std::string trace_merge_text(const trace_merge& x, const std::string& path);

} // namespace troupe
