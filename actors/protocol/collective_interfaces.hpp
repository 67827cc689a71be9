// The actors of collectives (docs/collectives.md), as others know them. Type ids are in interfaces.hpp.

#pragma once

#include "actors/protocol/atoms.hpp"
#include "actors/protocol/fwd.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>

namespace troupe {

/// A member of a group for collectives (actors/collective/collective_member.hpp). Each call has the
/// number of its round first and is answered once: with values, or collective_failed.
using collective_member_actor = caf::typed_actor<
  // Who the members are, before any call. The first counts.
  caf::reacts_to<collective_group>,
  // N values of everybody's: their sum.
  caf::replies_to<atom::all_reduce, uint64_t, payload>::with<payload>,
  // N values of everybody's: this member's part of their sum.
  caf::replies_to<atom::reduce_scatter, uint64_t, payload>::with<payload>,
  // This member's values, any number: those of all, in member order.
  caf::replies_to<atom::all_gather, uint64_t, payload>::with<payload>,
  // The root, and its N values (others' do not count): the same.
  caf::replies_to<atom::broadcast, uint64_t, uint64_t, payload>::with<payload>,
  // Likewise: this member's part of them.
  caf::replies_to<atom::scatter, uint64_t, uint64_t, payload>::with<payload>,
  // No values, once everybody has come.
  caf::replies_to<atom::barrier, uint64_t>::with<payload>,
  // Another member: a part of a round, that more of one may come, or that a round has failed there.
  // Idempotent.
  caf::reacts_to<collective_part>, caf::reacts_to<collective_grant>,
  caf::reacts_to<collective_failure>,
  // No call comes after this: answered once all that others were to have of it is with them.
  caf::replies_to<atom::stop>::with<atom::stop>,
  // Another member: answered at once, so what was said before it has come.
  caf::replies_to<caf::ping_atom>::with<caf::pong_atom>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

/// Who brings the members of several processes together (actors/net/collective), to the others of its
/// kind.
using collective_meeting_actor = caf::typed_actor<
  // Over a new connection, once by the dialling side, which is answered with the other's own.
  caf::reacts_to<collective_introduction>>;

} // namespace troupe
