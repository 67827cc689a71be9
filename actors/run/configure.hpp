// What an application's actor system needs before it can run our actors.

#pragma once

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

namespace troupe {

/// Where an application's own type ids start: CAF_BEGIN_TYPE_ID_BLOCK(mine, troupe::first_free_type_id). Those below are
/// Troupe's, so an application's stay what they are when Troupe gets more messages.
inline constexpr caf::type_id_t first_free_type_id = caf::first_custom_type_id + 256;

/// Adds Troupe's message types to `config`, and the scheduler of actors/base/work_sharing.hpp; call it before making
/// the actor system. One thread is enough. With a `scheduler.policy` of "stealing", CAF's own, it is not: a thread
/// runs first what its actors wake, which in training is always something, and hears nobody else until the run ends.
void configure(caf::actor_system_config& config);

} // namespace troupe
