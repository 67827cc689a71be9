// The messages between the members of a collective (actors/collective/collective_member.hpp). They
// can cross a wire: nothing in them is of one process. Over one, large parts come in pieces
// (coordinators/collective/collective_rule.hpp).

#pragma once

#include "actors/protocol/carrier_offer.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "coordinators/collective/collective_call.hpp"
#include "coordinators/collective/collective_rule.hpp"

#include <string>
#include <vector>

namespace troupe {

/// whoever makes a group -> each member: all members in order, itself included.
struct collective_group {
  std::vector<collective_member_actor> members;

  friend bool operator==(const collective_group&, const collective_group&) = default;
};

auto inspect(auto& f, collective_group& x) {
  return plain(f, "troupe.collective_group", x.members);
}

/// A process's meeting -> another's: who is there.
struct collective_introduction {
  std::string process;                          ///< its name in the plan
  collective_meeting_actor meeting;             ///< the sender
  std::vector<collective_member_actor> members; ///< of this process, in order
  bool wants_answer = false;
  bool knows_all = false; ///< its members know the whole group: others may call theirs
  carrier_offer carrier;  ///< of this connection

  friend bool operator==(const collective_introduction&, const collective_introduction&) = default;
};

auto inspect(auto& f, collective_introduction& x) {
  return plain(f, "troupe.collective_introduction", x.process, x.meeting, x.members, x.wants_answer,
               x.knows_all, x.carrier);
}

template <>
inline constexpr collective_stage last_of<collective_stage> = collective_stage::gather;

auto inspect(auto& f, collective_part& x) {
  payload values{x.values};
  return plain(f, "troupe.collective_part", x.round, x.from, x.kind, x.root, x.stage, x.count,
               values, x.first, x.rest, when_loaded([&] { x.values = values; }));
}

auto inspect(auto& f, collective_grant& x) {
  return plain(f, "troupe.collective_grant", x.round, x.from, x.stage, x.until);
}

auto inspect(auto& f, collective_failure& x) {
  return plain(f, "troupe.collective_failure", x.round, x.from, x.why);
}

} // namespace troupe
