// The room that a run needs, and the end of its actor system: it waits for actors that end, and not for one that never
// does.

#include "app/run/system_config.hpp"
#include "data/text/failure.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::system_config_test {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<system_config> settings() {
  runtime_options options;
  options.threads = 1;
  return std::make_unique<system_config>(options);
}

caf::actor detached(caf::actor_system& system) {
  return system.spawn<caf::detached>([](caf::event_based_actor* self) {
    self->set_default_handler(caf::drop);
    return caf::behavior{[](int) {}};
  });
}

TEST(an_actor_system, ends_with_its_actors) {
  bool has_worked = false;
  EXPECT_TRUE(with_actor_system(settings(), [&](caf::actor_system& system) {
    caf::anon_send_exit(detached(system), caf::exit_reason::user_shutdown);
    has_worked = true;
  }));
  EXPECT_TRUE(has_worked);
}

TEST(an_actor_system, is_left_behind_when_an_actor_does_not_end) {
  caf::actor kept;
  EXPECT_FALSE(with_actor_system(
    settings(), [&](caf::actor_system& system) { kept = detached(system); }, 300ms));
  caf::anon_send_exit(kept, caf::exit_reason::user_shutdown); // the thread ends after all
}

TEST(an_actor_system, is_left_behind_when_somebody_keeps_an_actor_that_has_ended) {
  caf::actor kept;
  EXPECT_FALSE(with_actor_system(
    settings(),
    [&](caf::actor_system& system) {
      kept = detached(system);
      caf::anon_send_exit(kept, caf::exit_reason::user_shutdown);
    },
    300ms));
}

TEST(an_actor_system, hands_on_what_its_work_throws) {
  EXPECT_THROW(
    with_actor_system(settings(), [](caf::actor_system&) { throw std::logic_error{"x"}; }),
    std::logic_error);
}

} // namespace
} // namespace troupe::system_config_test

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

} // namespace
} // namespace troupe::process_room_test
