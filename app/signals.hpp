// Signals of the command: the first SIGINT or SIGTERM asks training to stop and keep what it has,
// the second ends the process at once.

#pragma once

namespace troupe {

/// Ignores SIGPIPE: a reader that left is an error of the write, not the end of the process.
void ignore_broken_pipes();

/// From now on the first SIGINT or SIGTERM is only remembered; a second one ends the process with
/// 128 + its number, after a line break on standard error if that is a terminal.
void watch_stop_signals();

/// The remembered signal's number; 0 while there was none.
int stop_signal() noexcept;

} // namespace troupe
