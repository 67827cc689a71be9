#include "troupe/app/run/signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
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
    return; // nobody listens
}

void acknowledge(int number) {
  if (on_terminal)
    say("\n"); // ends a line that progress left open
  say(number == SIGINT ? "troupe: SIGINT" : "troupe: SIGTERM");
  say(": stopping; a second one, after 1 s or later, ends at once and keeps nothing\n");
}

void on_stop_signal(int number) {
  const int error = errno;
  const moment now = moment::clock::now();
  moment::rep first = 0;
  if (first_at.compare_exchange_strong(first, now.time_since_epoch().count())) {
    remembered = number;
    if (acknowledges || number == SIGINT)
      acknowledge(number);
  } else if (is_another_signal(moment{moment::duration{first}}, now, milliseconds{one_for})) {
    if (on_terminal)
      say("\n");
    _exit(128 + number);
  }
  errno = error;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags =
    SA_RESTART; // whoever reads data asks between pieces (data/source/reading_stop.hpp)
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

} // namespace

void ignore_broken_pipes() {
  handle(SIGPIPE, SIG_IGN);
}

void watch_stop_signals(milliseconds one_signal, bool is_quiet) {
  acknowledges = !is_quiet;
  on_terminal = isatty(STDERR_FILENO);
  one_for = one_signal.count();
  handle(SIGINT, on_stop_signal);
  handle(SIGTERM, on_stop_signal);
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
