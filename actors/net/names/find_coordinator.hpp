// A coordinator by its name, on whatever node it is (coordinator_link.hpp).

#pragma once

#include "actors/net/names/networked_names.hpp"
#include "actors/protocol/interfaces.hpp"

#include <string>

namespace troupe {

/// The coordinator of this name, as a handle that stays good; it may come later. The link lives until it is told to exit
/// (caf::anon_send_exit), and an actor system waits for its actors.
coordinator_actor find_coordinator(caf::actor_system& system, networked_names& here,
                                   const std::string& name);

} // namespace troupe
