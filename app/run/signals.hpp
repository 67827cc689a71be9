// Signals of the command: SIGINT, SIGTERM, SIGHUP (its terminal was closed), SIGUSR1, SIGUSR2 and SIGXCPU
// (batch systems warn by them). The first asks training to stop and keep what it has, a later one ends the
// process at once (coordinators/run/stop_signals.hpp).

#pragma once

#include "coordinators/run/stop_signals.hpp"
#include "data/text/failure.hpp"

#include <array>
#include <csignal>

namespace troupe {

/// What stops a run. All but SIGINT count as SIGTERM, whose exit code is 143.
inline constexpr std::array stop_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

/// Whether it stops this process even where the parent ignores it (a shell's `&`). Others stay ignored, as `nohup`
/// asks.
constexpr bool stops_in_any_case(int number) {
  return number == SIGINT || number == SIGTERM;
}

/// `number` has this handler from now on, if it may stop this process.
void handle_unless_ignored(int number, const struct sigaction& action, struct sigaction* before);

/// Ignores SIGPIPE and SIGXFSZ: a reader that left, and a limit on the size of files, are errors of the
/// write, not the end of the process.
void ignore_signals_of_writes();

/// From now on the process remembers the first of `stop_signals`, and acknowledges it in a line on
/// standard error; with `is_quiet` only a SIGINT, which a person sends. More of them within `one_signal`
/// are the same signal; one after that ends the process with 128 + its number. SIGXCPU, which comes each
/// second from a limit on, ends nothing.
void watch_stop_signals(milliseconds one_signal = one_signal_for, bool is_quiet = false);

/// SIGINT or SIGTERM, as which all others count; 0 while there was none.
int stop_signal() noexcept;

/// The failure as it is, but for one that says "interrupted" after SIGTERM: then it says
/// "terminated", which has an exit code of its own.
failure with_signal(const failure& error);

} // namespace troupe
