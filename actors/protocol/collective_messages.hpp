// The messages between the members of a collective (actors/collective/collective_member.hpp). They
// can cross a wire; over one, large parts come in pieces
// (coordinators/collective/collective_rule.hpp).

#pragma once

#include "actors/protocol/carrier_offer.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "coordinators/collective/collective_call.hpp"
#include "coordinators/collective/collective_rule.hpp"

#include <string>
#include <vector>

namespace troupe {

/// the maker of a group -> each member: all members in order, the receiver included.
struct collective_group {
  std::vector<collective_member_actor> members;

  friend bool operator==(const collective_group&, const collective_group&) = default;
};

TROUPE_INSPECTED(collective_group);

/// One process's meeting -> another's: the sender's process and its members.
struct collective_introduction {
  std::string process;                          ///< its name in the plan
  collective_meeting_actor meeting;             ///< the sender
  std::vector<collective_member_actor> members; ///< of this process, in order
  bool wants_answer = false;
  bool knows_all = false; ///< its members know the whole group, so others may call theirs
  carrier_offer carrier;  ///< of this connection

  friend bool operator==(const collective_introduction&, const collective_introduction&) = default;
};

TROUPE_INSPECTED(collective_introduction);

template <>
inline constexpr collective_stage last_of<collective_stage> = collective_stage::gather;

TROUPE_INSPECTED(collective_part);
TROUPE_INSPECTED(collective_grant);
TROUPE_INSPECTED(collective_failure);

} // namespace troupe
