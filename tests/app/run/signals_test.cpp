#include "app/run/signals.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <functional>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::signals_test {
namespace {

// Signals belong to the process: each case runs in a child, and its exit code is the result; -1: a signal ended it.
int exit_code_of(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO); // what is said there is no news of this test
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(signals, first_signal_is_remembered_only) {
  for (const int number : stop_signals) {
    const auto body = [number] {
      watch_stop_signals();
      if (stop_signal() != 0)
        return 1;
      raise(number);
      return stop_signal() == (number == SIGINT ? SIGINT : SIGTERM) ? 7 : 2;
    };
    EXPECT_EQ(exit_code_of(body), 7);
  }
}

// `timeout` tells a child and its group, a batch system each process, and a launcher the director.
TEST(signals, signals_that_come_together_are_one) {
  for (const int number : {SIGINT, SIGTERM}) {
    const auto body = [number] {
      watch_stop_signals();
      raise(SIGTERM);
      raise(number);
      raise(number);
      return stop_signal() == SIGTERM ? 7 : 2;
    };
    EXPECT_EQ(exit_code_of(body), 7);
  }
}

// What a launcher that was told to be quiet starts is quiet when the launcher ends it.
TEST(signals, it_is_acknowledged_in_a_line_but_by_who_is_quiet) {
  for (const bool is_quiet : {false, true}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const int code = exit_code_of([&] {
      dup2(ends[1], STDERR_FILENO);
      watch_stop_signals(one_signal_for, is_quiet);
      raise(SIGTERM);
      return stop_signal() == SIGTERM ? 7 : 2;
    });
    close(ends[1]);
    char letter = 0;
    EXPECT_EQ(read(ends[0], &letter, 1), is_quiet ? 0 : 1);
    close(ends[0]);
    EXPECT_EQ(code, 7);
  }
}

TEST(signals, one_that_comes_later_ends_the_process_at_once) {
  for (const int number : {SIGINT, SIGTERM}) {
    const auto body = [number] {
      watch_stop_signals(milliseconds{0}); // anything is later
      raise(SIGINT);
      raise(number);
      return 1;
    };
    EXPECT_EQ(exit_code_of(body), 128 + number);
  }
}

TEST(signals, what_who_started_it_has_ignored_stays_so_but_for_stops_by_hand) {
  for (const int number : stop_signals) {
    const auto body = [number] {
      std::signal(number, SIG_IGN); // as by nohup, or a script's `&`
      watch_stop_signals();
      raise(number);
      return stop_signal() == 0 ? 7 : 2;
    };
    EXPECT_EQ(exit_code_of(body), number == SIGINT || number == SIGTERM ? 2 : 7) << number;
  }
}

TEST(signals, a_limit_on_processor_time_warns_each_second_and_ends_nothing) {
  const auto body = [] {
    watch_stop_signals(milliseconds{0});
    raise(SIGXCPU);
    raise(SIGXCPU);
    return stop_signal() == SIGTERM ? 7 : 2;
  };
  EXPECT_EQ(exit_code_of(body), 7);
}

TEST(signals, an_interruption_by_sigterm_says_so) {
  const failure interrupted{failure_code::interrupted, "stopped", "rows.csv", "a hint"};
  EXPECT_EQ(with_signal(interrupted).code(), failure_code::interrupted);
  const auto body = [&] {
    watch_stop_signals();
    raise(SIGTERM);
    const auto told = with_signal(interrupted);
    const bool is_it = told.reason() == "stopped" && told.where() == "rows.csv" &&
                       told.hint() == "a hint" &&
                       with_signal({failure_code::bad_data, "x"}).code() == failure_code::bad_data;
    return is_it ? static_cast<int>(told.code()) : 2;
  };
  EXPECT_EQ(exit_code_of(body), 143);
}

TEST(signals, a_file_that_may_not_grow_is_an_error_of_the_write) {
  const auto body = [] {
    ignore_signals_of_writes();
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    const int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    return file >= 0 && write(file, "x", 1) < 0 && errno == EFBIG ? 7 : 2;
  };
  EXPECT_EQ(exit_code_of(body), 7);
}

TEST(signals, writing_to_a_pipe_nobody_reads_is_survived) {
  const auto body = [] {
    ignore_signals_of_writes();
    int ends[2];
    if (pipe(ends) != 0)
      return 1;
    close(ends[0]);
    return write(ends[1], "x", 1) < 0 ? 7 : 2;
  };
  EXPECT_EQ(exit_code_of(body), 7);
}

} // namespace
} // namespace troupe::signals_test
