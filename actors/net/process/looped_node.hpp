// A node that is served in turns with the sockets of its carriers (node_loop.hpp).

#pragma once

#include "actors/net/carriers/node_loop.hpp"
#include "actors/node/node.hpp"

#include <memory>

namespace troupe {

/// As `system.spawn<caf::detached>(node, ...)`, on this loop.
local_node_actor spawn_looped(caf::actor_system& system, const std::shared_ptr<node_loop>& loop,
                              const node_options& options, const local_company& local);

} // namespace troupe
