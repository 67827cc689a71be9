// Who hears of what a node is told: its process, outside the actor system.

#pragma once

#include "troupe/actors/protocol/cluster_messages.hpp"

#include <functional>

namespace troupe {

/// Called in a turn of the node; each may be empty.
struct node_listeners {
  standing_listener on_standing;
  misfit_listener on_misfit;
  std::function<void()> on_hold; ///< the director asks to hold: it stops training
};

} // namespace troupe
