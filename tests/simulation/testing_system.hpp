// An actor system whose actors run when the world says so, with Troupe's messages.
//
// Worlds use one system one after the other. It may not outlive main: libraries beneath it clean up
// after themselves there.

#pragma once

#include "troupe/actors/run/train.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <optional>

namespace troupe::simulation {

class testing_system {
public:
  testing_system() {
    configure(config_);
    config_.set("scheduler.policy", caf::atom("testing"));
    system_.emplace(config_);
  }

  caf::actor_system& get() { return *system_; }

private:
  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
};

} // namespace troupe::simulation
