// An actor system whose actors run when a test says so, in virtual time, with Troupe's messages.

#pragma once

#include "actors/run/configure.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <optional>

namespace troupe::test {

/// It may not outlive main: libraries beneath it clean up after themselves there.
class testing_system {
public:
  testing_system() {
    configure(config_);
    config_.set("scheduler.policy", caf::atom("testing"));
    system_.emplace(config_);
    scheduler_ = &dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }
  testing_system(const testing_system&) = delete;
  testing_system& operator=(const testing_system&) = delete;

  caf::actor_system& get() { return *system_; }

  /// Runs until nobody has anything to do.
  void run() {
    while (scheduler_->try_run_once()) {
    }
  }

protected:
  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
};

} // namespace troupe::test
