// The end of a run's actor system: it waits for actors that end, and not for one that never does.

#include "troupe/app/run/system_config.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>

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
