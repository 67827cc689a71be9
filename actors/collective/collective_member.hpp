// Collectives of an application's own buffers: all-reduce, reduce-scatter, all-gather, broadcast,
// scatter and barrier among n actors (coordinators/collective/collective_rule.hpp decides).
//
//   auto members = spawn_collective(system, {3});  // then, in the k-th of three actors:
//   self->request(members[k], timeout, atom::all_reduce_v, round, payload{mine, 0, mine.size()})
//     .then([=](const payload& sum) { .. }, [=](const caf::error& why) { .. });
//
// Each call is answered once by the round's deadline: with values, or with collective_failed and the name of a member.
// The caller's timeout should be longer; it expires only if its own member dies.
//
// Other members may read a caller's values even after the answer: never write to them again. Put the next round's
// values in another buffer; a buffer_pool has buffers that no member reads.
//
// A networked_collective (actors/net/collective) brings members of several processes together. Parts go to another
// process in pieces. A member believes of a member of another process only what that member itself sends.
//
// A member ends with its last handle; over a wire, with its networked_collective. An actor that is linked to its member
// takes it along when it dies, so the other members notice.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/collective_messages.hpp"
#include "actors/run/configure.hpp"
#include "coordinators/collective/collective_rule.hpp"

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

/// How often a member with open rounds looks at the clock. A round may end this much after its deadline.
inline constexpr milliseconds collective_tick_interval{50};

/// How long a member that leaves waits for another process's pong. A round trip takes milliseconds; doubled, the member
/// waits twice as long for a process that hangs.
inline constexpr milliseconds collective_farewell_deadline{5'000};

struct collective_member_options {
  collective_options rule{};
  size_t member = 0;
  /// Takes a piece that has values for a member of another process; null: pieces are messages.
  std::function<void(size_t to, collective_part&& piece)> carry = {};
};

class collective_member_state {
public:
  explicit collective_member_state(collective_member_actor::pointer self) : self_(self) {}

  collective_member_actor::behavior_type make_behavior(const collective_member_options& options);

  static inline const char* name = "collective-member";

private:
  struct peer_place {
    caf::actor_addr address; ///< not a handle, or members would keep each other alive
    bool is_far = false;     ///< in another process
    bool is_lost = false;
  };

  void on_group(const collective_group& news);
  caf::result<payload> on_call(const collective_call& call);
  void on_part(const collective_part& news);
  void on_grant(const collective_grant& news);
  void on_failure(const collective_failure& news);
  caf::result<atom::stop> on_stop();
  void on_down(const caf::down_msg& news);
  void on_tick();

  /// True if the current message's sender is this member. Members of this process are trusted.
  bool speaks_for(uint64_t member) const;
  void carry_out(collective_outcome outcome);
  void send(departing_parts::pieces pieces);
  void confirm_stop();
  void on_pong(size_t member);
  collective_member_actor peer(size_t member) const;
  void watch_time();

  collective_member_actor::pointer self_;
  collective_member_options options_;
  std::optional<collective_rule> rule_;
  std::optional<departing_parts> departing_;
  std::vector<peer_place> peers_;                                  ///< by member
  std::map<uint64_t, caf::typed_response_promise<payload>> calls_; ///< by round
  caf::typed_response_promise<atom::stop> stop_;
  std::set<size_t> pongs_awaited_; ///< by member
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
