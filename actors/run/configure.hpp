// Prepares an application's actor system for Troupe's actors.

#pragma once

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

namespace troupe {

/// The first type id of an application: CAF_BEGIN_TYPE_ID_BLOCK(mine, troupe::first_free_type_id). Lower ids are
/// Troupe's, so an application's ids do not change when Troupe gets more messages.
inline constexpr caf::type_id_t first_free_type_id = caf::first_custom_type_id + 256;

/// Adds Troupe's message types to `config`, and the scheduler of actors/base/work_sharing.hpp; call it before making
/// the actor system. One thread is enough, but not with CAF's `scheduler.policy` "stealing". There a thread first runs
/// the actors that its own actors wake. In training these never end, so a single thread runs no other actor until the
/// run ends.
void configure(caf::actor_system_config& config);

} // namespace troupe
