// Collectives of an application's own buffers: all-reduce, reduce-scatter, all-gather, broadcast,
// scatter and barrier among n actors (coordinators/collective/collective_rule.hpp decides).
//
//   auto members = spawn_collective(system, {3});  // then, in the k-th of three actors:
//   self->request(members[k], timeout, atom::all_reduce_v, round, payload{mine, 0, mine.size()})
//     .then([=](const payload& sum) { .. }, [=](const caf::error& why) { .. });
//
// Each round is answered once: with values, or with collective_failed and the name of a member, by
// its deadline. The timeout is longer, and for a member that dies itself.
//
// Others read the values that were handed over even after the answer, so they are never written
// again: the next round's are in another buffer (a buffer_pool has those that nobody reads).
//
// A member ends when nobody holds it any more. An actor that is linked to its member takes it along
// when it dies, and so the others hear of it.

#pragma once

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/protocol/collective_messages.hpp"
#include "troupe/actors/run/configure.hpp"
#include "troupe/coordinators/collective/collective_rule.hpp"

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <optional>
#include <vector>

namespace troupe {

/// How often a member with open rounds looks at the clock: what a round may outlive its deadline.
inline constexpr milliseconds collective_tick_interval{50};

struct collective_member_options {
  collective_options rule{};
  size_t member = 0;
};

class collective_member_state {
public:
  explicit collective_member_state(collective_member_actor::pointer self) : self_(self) {}

  collective_member_actor::behavior_type make_behavior(const collective_member_options& options);

  static inline const char* name = "collective-member";

private:
  void on_group(const collective_group& news);
  caf::result<payload> on_call(const collective_call& call);
  void on_down(const caf::down_msg& news);
  void on_tick();

  void carry_out(collective_outcome outcome);
  collective_member_actor peer(size_t member) const;
  void watch_time();

  collective_member_actor::pointer self_;
  std::optional<collective_rule> rule_;
  size_t member_count_ = 0;
  /// By member; not handles, or members would keep each other alive.
  std::vector<caf::actor_addr> peers_;
  std::map<uint64_t, caf::typed_response_promise<payload>> calls_; ///< by round
  bool watches_time_ = false;
};

/// Options that do not fit, or a group of another size, end the actor with the reason.
collective_member_actor::behavior_type
collective_member(self_pointer<collective_member_actor, collective_member_state> self,
                  const collective_member_options& options);

/// A group in one actor system: its members, in order.
std::vector<collective_member_actor> spawn_collective(caf::actor_system& system,
                                                      const collective_options& options);

} // namespace troupe
