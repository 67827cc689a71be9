// The files of a process's trace. The timeline's file is opened before the run begins, so that a wrong
// path fails at once, and written at the run's end, however it ends. The flight recorder's file is
// removed when the process ends well, and shown to people when it does not.

#pragma once

#include "app/commands/commands.hpp"
#include "coordinators/job/job.hpp"
#include "data/records/run_recorder.hpp"
#include "data/records/trace_file.hpp"

#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// What a process is to its run.
struct trace_role {
  bool has_run_directory = false; ///< it writes there
  bool is_launched = false;       ///< the launcher merges its timeline with others and says so
};

class trace_output {
public:
  /// What `arguments` ask of a process called `process`. A private run has no flight recorder: the times of
  /// clients' work would give them away. A recorder that cannot be made is a warning. Throws what
  /// atomic_file throws.
  trace_output(const train_arguments& arguments, const job& x, const std::string& process,
               const trace_role& role);
  /// Writes the timeline and puts the recorder's file where it belongs, and says so. A failure is a
  /// warning only: the run is what counts. While an exception passes the process ends badly, unless a
  /// signal asked it to stop.
  ~trace_output();
  trace_output(const trace_output&) = delete;
  trace_output& operator=(const trace_output&) = delete;

  /// Null when none is wanted.
  const std::shared_ptr<run_recorder>& trace() const { return trace_; }

  /// Takes recorders of dead processes of this run into its directory, or says where the one of this
  /// process's earlier life is. Once the run directory is this run's.
  void take_in() const;

private:
  void write_timeline();
  void put_recorder_away();

  trace_role role_;
  flight_place flight_;             ///< without a folder: there is none
  std::optional<atomic_file> file_; ///< of the timeline
  std::shared_ptr<run_recorder> trace_;
  int exceptions_ = 0; ///< that passed when it was made
};

/// As take_in_flights, and says in a line each where they are.
void take_in_and_tell(const std::string& folder, const std::string& run_directory);

/// The job's run directory, as recorders name it.
std::string absolute_run_directory(const job& x);

/// What a merge came to, in lines.
std::string trace_merge_text(const trace_merge& x, const std::string& path);

} // namespace troupe
