#include "app/run/signals.hpp"

#include <atomic>
#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace troupe {

namespace {

// What the handler touches. It may run on several threads at once, and asking the system for
// anything else is not safe there.
std::atomic<moment::rep> first_at{0}; // 0: none came
std::atomic<int> remembered{0};
std::atomic<moment::rep> one_for{0};
std::atomic<bool> on_terminal{false};
std::atomic<bool> acknowledges{false};
static_assert(std::atomic<moment::rep>::is_always_lock_free);

void say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0)
    return; // standard error is closed
}

void acknowledge(int number) {
  if (on_terminal)
    say("\n"); // ends a line that progress left open
  static constexpr std::array<std::string_view, stop_signals.size()> names{
    "SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU"};
  say("troupe: ");
  for (size_t i = 0; i < names.size(); ++i)
    if (stop_signals[i] == number)
      say(names[i]);
  say(": stopping; a second one, after 1 s or later, ends at once and keeps nothing\n");
}

void on_stop_signal(int number) {
  const int error = errno;
  const moment now = moment::clock::now();
  moment::rep first = 0;
  if (first_at.compare_exchange_strong(first, now.time_since_epoch().count())) {
    remembered = number == SIGINT ? SIGINT : SIGTERM;
    if (acknowledges || number == SIGINT)
      acknowledge(number);
  } else if (number != SIGXCPU &&
             is_another_signal(moment{moment::duration{first}}, now, milliseconds{one_for})) {
    if (on_terminal)
      say("\n");
    _exit(128 + number);
  }
  errno = error;
}

} // namespace

void handle_unless_ignored(int number, const struct sigaction& action, struct sigaction* before) {
  struct sigaction found {};
  sigaction(number, nullptr, &found);
  if (before)
    *before = found;
  if (found.sa_handler != SIG_IGN || stops_in_any_case(number))
    sigaction(number, &action, nullptr);
}

void ignore_signals_of_writes() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void watch_stop_signals(milliseconds one_signal, bool is_quiet) {
  acknowledges = !is_quiet;
  on_terminal = isatty(STDERR_FILENO);
  one_for = one_signal.count();
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags =
    SA_RESTART; // readers of data look for a signal between pieces (data/source/text_source.hpp)
  sigemptyset(&action.sa_mask);
  for (const int number : stop_signals)
    handle_unless_ignored(number, action, nullptr);
}

int stop_signal() noexcept {
  return remembered;
}

failure with_signal(const failure& error) {
  if (error.code() != failure_code::interrupted || stop_signal() != SIGTERM)
    return error;
  return {failure_code::terminated, error.reason(), error.where(), error.hint()};
}

} // namespace troupe
