#include "troupe/app/signals.hpp"

#include <csignal>

#include <unistd.h>

namespace troupe {

namespace {

// Written by the handler: a lock-free type that signals may touch, and what they need to know
// beforehand, because asking is not safe in a handler.
volatile std::sig_atomic_t remembered = 0;
volatile std::sig_atomic_t on_terminal = 0;

void on_stop_signal(int number) {
  if (remembered == 0) {
    remembered = number;
    return;
  }
  if (on_terminal && write(STDERR_FILENO, "\n", 1) < 0)
    _exit(128 + number);
  _exit(128 + number);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART; // reading data goes on after the first signal
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

} // namespace

void ignore_broken_pipes() {
  handle(SIGPIPE, SIG_IGN);
}

void watch_stop_signals() {
  on_terminal = isatty(STDERR_FILENO);
  handle(SIGINT, on_stop_signal);
  handle(SIGTERM, on_stop_signal);
}

int stop_signal() noexcept {
  return remembered;
}

} // namespace troupe
