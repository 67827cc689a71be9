// The launch rule: what to do with the processes of a cluster that one launcher started together.
//
// The launcher starts no process again, so it has to know when going on makes sense:
//
//                 a stop signal, or a node that refuses         the director's end
//   running ------------------------------------------> stopping -----+
//      |        signal to the director; it stops at a version         |
//      +------------------- the director's end ---------------------> ending ---> all ended
//                                            the others get some time, then SIGTERM, then SIGKILL
//
// A stop signal goes to the director alone: it needs the others to agree on a version, and lets
// them go once it has the result. A later one kills all processes at once; those that come together
// with the first count as the first (coordinators/run/stop_signals.hpp).
//
// A lost node does not end the run: other nodes do its work again, and the bits stay the same. But
// a node that refuses to take part (a wrong version, a missing file) would refuse again, so it is
// not worth waiting for.

#pragma once

#include "coordinators/base/moment.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace troupe {

/// How a process ended: by itself with an exit code, or by a signal.
struct process_end {
  int exit_code = 0;
  int signal = 0; ///< 0: by itself

  bool is_good() const { return exit_code == 0 && signal == 0; }
  friend bool operator==(const process_end&, const process_end&) = default;
};

/// A signal to be sent to a process.
struct launch_action {
  size_t process = 0;
  int signal = 0;

  friend bool operator==(const launch_action&, const launch_action&) = default;
};

struct launch_options {
  size_t process_count = 0;
  size_t director = 0; ///< its index
  /// For the director to stop at a version and write its files. Large models on slow disks take
  /// seconds; a user who wants no result need not wait.
  milliseconds director_grace{30'000};
  /// For the others to end by themselves once the director has: it has let them go, and they
  /// compute nothing any more.
  milliseconds farewell{2'000};
  /// For them once they were asked to end.
  milliseconds grace{5'000};
};

class launch_rule {
public:
  explicit launch_rule(const launch_options& options);

  std::vector<launch_action> on_stop_signal(int number, moment now);
  std::vector<launch_action> on_end(size_t process, process_end end, moment now);
  std::vector<launch_action> on_time(moment now);

  /// When to call `on_time` next; nothing: only events count.
  std::optional<moment> deadline() const { return deadline_; }
  /// True when every process has ended.
  bool finished() const;

  /// The process that failed first. A process that ended as it was asked to has not failed. Nor has
  /// one that a signal stopped, of any sender, when the run was stopped.
  std::optional<size_t> first_failure() const;
  /// The end of a process that has ended.
  const process_end& end_of(size_t process) const { return *ends_[process]; }
  /// True when the run was stopped because a node refused to take part.
  bool was_refused() const { return refusal_.has_value(); }

  /// Once finished: the code of the node that refused; else the director's, or 128 and the signal
  /// that ended it.
  int exit_code() const;

private:
  std::vector<launch_action> stop_director(int signal, moment now);
  std::vector<launch_action> signal_all(int signal);
  bool is_failure(size_t process, const process_end& end) const;
  bool is_alive(size_t process) const { return !ends_[process]; }

  launch_options options_;
  std::vector<std::optional<process_end>> ends_;
  std::vector<int> sent_; ///< the last signal sent to each; 0: none
  std::optional<moment> deadline_;
  int next_signal_ = 0; ///< for all processes left at the deadline
  int stop_signal_ = 0; ///< the user's
  moment stopped_at_{};
  std::vector<size_t> failures_; ///< in order
  std::optional<size_t> refusal_;
};

/// True when a process was ended by SIGINT or SIGTERM, or says so by its exit code.
bool was_stopped(const process_end& end);

/// True for exit codes that the same start would end with again: a wrong command line, file,
/// version or permission. Others are accidents.
bool would_fail_again(int exit_code);

} // namespace troupe
