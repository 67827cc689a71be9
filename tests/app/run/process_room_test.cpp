#include "troupe/app/run/process_room.hpp"

#include "troupe/data/text/failure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::process_room_test {

namespace {

// Limits belong to the process: each case runs in a child, which says what is refused.
std::string refusal_under(const std::function<void()>& limit, size_t threads, size_t descriptors) {
  int ends[2];
  if (pipe(ends) != 0)
    return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    limit();
    try {
      require_process_room(threads, descriptors);
    } catch (const failure& error) {
      const auto text = std::string{error.what()} + " / " + error.hint();
      if (error.code() == failure_code::io_error && write(ends[1], text.data(), text.size()) > 0)
        _exit(0);
    }
    _exit(1);
  }
  close(ends[1]);
  std::string result(1000, ' ');
  result.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], result.data(), 1000))));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return result;
}

void limit(__rlimit_resource what, rlim_t most) {
  const rlimit x{most, most};
  setrlimit(what, &x);
}

} // namespace

TEST(process_room, is_there) {
  require_process_room(20, 20);
  EXPECT_EQ(refusal_under([] {}, 20, 20), "");
}

TEST(process_room, threads_that_cannot_be_started_are_told_by_their_limit) {
  if (geteuid() != 0)
    GTEST_SKIP() << "a limit counts all processes of a user: this needs one who has no other";
  const auto told = refusal_under(
    [] {
      limit(RLIMIT_NPROC, 1);
      if (setuid(54'321) != 0)
        _exit(2);
    },
    5, 0);
  EXPECT_NE(told.find("needs 5 more threads and is permitted 0"), std::string::npos) << told;
  EXPECT_NE(told.find("ulimit -u"), std::string::npos) << told;
}

TEST(process_room, files_that_cannot_be_opened_are_told_by_their_limit) {
  const auto told = refusal_under([] { limit(RLIMIT_NOFILE, 12); }, 0, 50);
  EXPECT_NE(told.find("needs 50 more open files and is permitted "), std::string::npos) << told;
  EXPECT_NE(told.find("ulimit -n"), std::string::npos) << told;
}

} // namespace troupe::process_room_test
