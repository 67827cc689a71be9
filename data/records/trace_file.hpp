// A timeline's file: Chrome's trace events as JSON, one event a line, which Perfetto and chrome://tracing
// open. The first line also says whose it is, how much was recorded and how clocks stood, so that the
// files of a run's processes can be merged into one on the director's clock.

#pragma once

#include "data/disk/atomic_file.hpp"
#include "data/records/trace_record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Writes a process's timeline. Throws as write_file_atomically does.
void write_trace(atomic_file file, const process_trace& x);

/// One file of a merge.
struct merged_process {
  std::string process;
  uint64_t events = 0;
  uint64_t clock_error =
    0; ///< nanoseconds: times are right up to this. 0: it has the director's clock
};

struct trace_merge {
  std::vector<merged_process> processes;
  uint64_t flows = 0;    ///< of which both ends are there
  uint64_t early = 0;    ///< of these, that seem to arrive before they were sent
  uint64_t early_ns = 0; ///< by this at most
};

/// Merges files of one run, one at least, into one at `path`. Memory is that of the flows, not of the
/// files. Throws failure(bad_data) for what is no such file, another job's, one process's twice, or one
/// whose clock nobody knows; failure(missing_input); and as write_file_atomically does.
trace_merge merge_traces(const std::vector<std::string>& files, const std::string& path);

} // namespace troupe
