// Waits: which process holds up a run, and when to say so.
//
// Processes that train in step wait for each other in chains: a shard waits for a gradient, whose
// replica waits for parameters, whose shard waits for the gradient of a third process. Each reports
// only the processes that it waits for itself. `holding_up` follows the chains to their ends:
//
//   a --waits for--> b --waits for--> c           c holds up the run
//   c has been silent for longer than a report may take: its last report does not count any more,
//   and it holds up the run whether another waits for it by name or not
//
// `wait_reporter` times the lines for people: none before the wait has lasted, one for each change of
// processes, then ever fewer, one when it is over. It never decides about training.

#pragma once

#include "coordinators/base/moment.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Something a process waits for.
struct awaited {
  std::string from; ///< the process that should send it; empty: one of its own parts
  std::string what; ///< "gradients of step 412, slices 2-3"

  friend bool operator==(const awaited&, const awaited&) = default;
};

/// A process, as of its last report.
struct heard_process {
  std::string name;
  std::vector<awaited> waits; ///< none: it works
  milliseconds silence{};     ///< since its last report
  milliseconds busy{};        ///< with the piece of work it is at

  friend bool operator==(const heard_process&, const heard_process&) = default;
};

/// A process that others wait for, and that waits for none itself.
struct late_process {
  std::string name;
  std::vector<std::string> what; ///< is missed; may be empty when it is only silent
  milliseconds silence{};
  milliseconds busy{};

  friend bool operator==(const late_process&, const late_process&) = default;
};

/// Processes report once a second: a report has not come. Less than the patience of `wait_reporter`,
/// so that the last report of a silent process is in no line.
inline constexpr milliseconds silence_max{1'800};

/// The processes that hold up the run, in the order of `everybody`; none: all work. When all wait
/// for each other in a circle, all of that circle.
std::vector<late_process> holding_up(const std::vector<heard_process>& everybody);

/// "waiting for node b: gradients of step 412, slices 2-3 (last heard 1.4 s ago)", or "(computing
/// for 6.2 s)"; with more than
/// one process its parts are joined by "; ".
std::string waiting_text(const std::vector<late_process>& late);

/// "waiting for nodes c, d to join (58 s left)".
std::string joining_text(const std::vector<std::string>& names, milliseconds left);

/// "1.4 s"; from a minute on "75 s".
std::string time_text(milliseconds time);

class wait_reporter {
public:
  /// How long a wait lasts before a line reports it. A process that starts, a link that is lost and
  /// found, a long step: all take less, and none of them is worth a line.
  static constexpr milliseconds patience_default{2'000};
  /// Between two lines about the same wait, doubling.
  static constexpr milliseconds interval_min{5'000};
  static constexpr milliseconds interval_max{60'000};

  explicit wait_reporter(milliseconds patience = patience_default) : patience_(patience) {}

  milliseconds patience() const { return patience_; }

  /// Nothing has moved since `since`, for want of `who` (names; in any form that is equal for equal
  /// ones). True: now is the time to say so.
  bool is_due(const std::string& who, moment since, moment now);

  /// Something has moved at `now`. How long the wait lasted, if it was reported.
  std::optional<milliseconds> over(moment now);

  friend bool operator==(const wait_reporter&, const wait_reporter&) = default;

private:
  struct reported_wait {
    moment next;           ///< to be reported again
    milliseconds interval; ///< after that
    moment last;           ///< it was going on

    friend bool operator==(const reported_wait&, const reported_wait&) = default;
  };

  milliseconds patience_;
  std::map<std::string, reported_wait> told_; ///< by `who`; past ones too, for a while
  std::optional<moment> since_;               ///< the reported wait began
};

} // namespace troupe
