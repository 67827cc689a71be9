// The files of a process's trace: the timeline's, opened before the run begins, so that a wrong path is
// told of at once, and written when it has ended, however it did; and the flight recorder's, which is
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
  bool is_launched = false; ///< who started it merges its timeline with others and tells of that
};

class trace_output {
public:
  /// What `arguments` ask of a process called `process`. Of a private run there is no flight recorder: when
  /// clients' work ended would tell of them. That there can be none is a warning. Throws what atomic_file
  /// throws.
  trace_output(const train_arguments& arguments, const job& x, const std::string& process,
               const trace_role& role);
  /// Writes the timeline and puts the recorder's file where it belongs, and says so; what goes wrong then
  /// is a warning: the run is what counts. While an exception passes the process ends badly, unless a
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
