// What an application's actor system needs before it can run our actors.

#pragma once

#include <caf/fwd.hpp>

namespace troupe {

/// Adds Troupe's message types to `config`, and the scheduler of actors/base/work_sharing.hpp; call it before making
/// the actor system. One thread is enough. With a `scheduler.policy` of "stealing", CAF's own, it is not: a thread
/// runs first what its actors wake, which in training is always something, and hears nobody else until the run ends.
void configure(caf::actor_system_config& config);

} // namespace troupe
