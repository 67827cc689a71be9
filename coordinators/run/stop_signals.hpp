// What SIGINT and SIGTERM ask of a process.
//
// A stop is seldom one signal. `timeout` signals the child and its group, a service manager or
// batch system every process of a job, and a launcher signals its processes once more. So signals
// that come together are one: stop, and keep what there is. A later one comes from a user who has
// seen that, and does not want to wait.
//
// The same holds between processes. A worker that gets a signal stays for a moment: the director
// may have got one too, and then needs the worker's part of the result.

#pragma once

#include "coordinators/base/moment.hpp"

#include <optional>

namespace troupe {

/// Signals that come within this of the first are the first once more. Doubled, a user's second
/// Ctrl-C does not count; at a tenth a busy machine delivers one stop as two.
inline constexpr milliseconds one_signal_for{1'000};

/// True when a signal at `now` is one of its own, `first` being when the first one came.
constexpr bool is_another_signal(moment first, moment now, milliseconds one_for = one_signal_for) {
  return now - first >= one_for;
}

/// When a worker that got a stop signal leaves.
class leave_rule {
public:
  /// For the director to say that it stops too: it asks all members to hold within some tenths of a
  /// second.
  static constexpr milliseconds patience{2'000};
  /// For a stop that is under way: steps are finished, rows evaluated, spans fetched. Less than the
  /// 30 s after which most supervisors kill.
  static constexpr milliseconds stopping_patience{20'000};

  /// The worker got a stop signal; only the first time counts.
  void ask(moment now) {
    if (!asked_)
      asked_ = now;
  }

  /// `run_stops`: the director has asked all members to hold.
  bool is_due(bool run_stops, moment now) const {
    return asked_ && now - *asked_ >= (run_stops ? stopping_patience : patience);
  }

private:
  std::optional<moment> asked_;
};

} // namespace troupe
