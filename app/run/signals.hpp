// Signals of the command: the first SIGINT or SIGTERM asks training to stop and keep what it has, a
// later one ends the process at once (coordinators/run/stop_signals.hpp).

#pragma once

#include "troupe/coordinators/run/stop_signals.hpp"
#include "troupe/data/text/failure.hpp"

namespace troupe {

/// Ignores SIGPIPE: a reader that left is an error of the write, not the end of the process.
void ignore_broken_pipes();

/// From now on the first SIGINT or SIGTERM is remembered, and acknowledged in a line on standard
/// error; who `is_quiet` acknowledges what a person sends, SIGINT, alone. More of them within
/// `one_signal` are the same signal; one after that ends the process with 128 + its number.
void watch_stop_signals(milliseconds one_signal = one_signal_for, bool is_quiet = false);

/// The remembered signal's number; 0 while there was none.
int stop_signal() noexcept;

/// The failure as it is, but for one that says "interrupted" after SIGTERM: then it says
/// "terminated", which has an exit code of its own.
failure with_signal(const failure& error);

} // namespace troupe
