// What SIGINT and SIGTERM ask of a process.
//
// A stop is seldom one signal. `timeout` signals the child and its group, a service manager or
// batch system every process of a job, and a launcher signals its processes once more. So signals
// that come together are one: stop, and keep what there is. A later one comes from a user who has
// seen that, and does not want to wait.
//
// The same holds between processes. A worker that gets a signal asks to leave (coordinators/membership/leave_rule.hpp),
// and stays where it is needed: the director may have got one too, and then needs the worker's part of the result.

#pragma once

#include "coordinators/base/moment.hpp"

namespace troupe {

/// Signals that come within this of the first are the first once more. Doubled, a user's second
/// Ctrl-C does not count; at a tenth a busy machine delivers one stop as two.
inline constexpr milliseconds one_signal_for{1'000};

/// True when a signal at `now` is one of its own, `first` being when the first one came.
constexpr bool is_another_signal(moment first, moment now, milliseconds one_for = one_signal_for) {
  return now - first >= one_for;
}

} // namespace troupe
