// What an application's actor system needs before it can run our actors.

#pragma once

#include <caf/fwd.hpp>

namespace troupe {

/// Adds Troupe's message types to `config`; call it before making the actor system.
void configure(caf::actor_system_config& config);

} // namespace troupe
