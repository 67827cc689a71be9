// The meeting: one in each process of a collective. It turns connections that the gate has opened into a group: it
// sends its process's members the list of all members. Then the application's calls may begin.
//
//   gate --opened--> handed to the actor system --> introductions both ways --> met
//                                                                                |
//   own members: the group   <---- all have been met ----------------------------+
//   the others: "knows all"  <----+
//   join: answered           <---- all others know all, too
//
// A connection that is lost before that is dialled again. Later nothing is repaired: members whose connection is lost
// are lost, and the other members' monitors report it (collective_rule.hpp).

#pragma once

#include "actors/base/guard.hpp"
#include "actors/net/carriers/carriers.hpp"
#include "actors/net/links/handover.hpp"
#include "actors/net/links/messages.hpp"
#include "actors/protocol/collective_messages.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <caf/fwd.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace troupe {

// Part carriers: the carriers of a networked collective (actors/net/carriers). Pieces of parts go by shared memory or a
// connection of their own, as in training. Without a carrier to a process they go as messages. Parts without values
// always go as messages.
//
//   member --carry(to, piece)--> turn of the loop --> carrier --> turn of the other's loop --> member there
//                                     |  no carrier
//                                     +--> message to the member there
//
// A carrier takes pieces once something has come by it. If it breaks later, members treat its process as lost: pieces
// may be lost, and a collective sends nothing twice.

/// A member, and the name of its process.
struct placed_member {
  collective_member_actor actor;
  std::string process;
};

class part_carriers {
public:
  /// Throws failure(io_error) when the system has no descriptor left.
  part_carriers(caf::actor_system& system, std::string own_name, carrier_options options);
  ~part_carriers();

  /// Begins to listen.
  void start();
  carrier_offer offer() const { return ways_->offer(); }
  void open(const std::string& peer, const carried_link& link) { ways_->open(peer, link); }
  void take(const std::string& peer, uint64_t token, std::shared_ptr<channel> connection) {
    ways_->take(peer, token, std::move(connection));
  }

  /// All processes have met: sets the members, in order. Call it before any member gets the group.
  void set_members(std::vector<placed_member> members);
  /// From any thread, after `set_members`.
  void carry(size_t from, size_t to, collective_part&& piece);
  /// Returns when all given pieces have come to the other processes, or these are lost, or at the deadline.
  void settle(milliseconds deadline);

private:
  void take_frame(const std::string& peer, carried_frame&& frame);
  void tell_lost(const std::string& peer);
  void on_settled(const std::string& peer);

  std::string own_name_;
  std::shared_ptr<node_loop> loop_;
  std::shared_ptr<carriers> ways_;
  // In turns only.
  std::vector<placed_member> members_;
  std::set<std::string> heard_;      ///< processes of which something has come by their carrier
  std::set<std::string> unanswered_; ///< those that `settle` asks
  std::promise<void> settled_;
};

/// The meeting as its own process sees it.
using local_meeting_actor = collective_meeting_actor::extend<
  // From the gate.
  caf::reacts_to<gate_event>,
  // Answered when all processes have met, or with collective_failed: which have not come, and why.
  caf::replies_to<atom::begin>::with<atom::begin>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

struct meeting_options {
  cluster_plan plan;
  std::string own_name;
  std::vector<collective_member_actor> members; ///< of this process
  std::function<void(uint64_t ticket, const verdict&)> answer;
  std::function<void(const std::string& name)> dial_again;
  std::shared_ptr<part_carriers> carrying = {}; ///< gets each met process; may be null
  /// Time from an open connection to the introduction; a round trip takes milliseconds. Doubled, a stalled connection
  /// is made anew twice as late.
  milliseconds introduction_deadline{5'000};
};

class collective_meeting_state {
public:
  explicit collective_meeting_state(local_meeting_actor::pointer self) : self_(self) {}

  local_meeting_actor::behavior_type make_behavior(const meeting_options& options);

  static inline const char* name = "collective-meeting";

private:
  /// An open connection, and the process behind it once it is introduced.
  struct met_process {
    opened_news news;
    connection_hold hold;
    moment since;
    collective_meeting_actor meeting;
    std::vector<collective_member_actor> members; ///< empty: not introduced
    bool knows_all = false;
    carrier_offer mine;
    carrier_offer theirs; ///< once it is introduced
  };

  void on_introduction(const collective_introduction& news);
  caf::result<atom::begin> on_begin();
  void on_down(const caf::down_msg& news);
  void on_tick();

  void take(const candidate_news& news);
  void take(const opened_news& news);
  void take(const refused_news& news);
  void take(const failing_news& news);
  void take(const withdrawn_news&) {}
  void take(const visitor_news&) {}
  void take(const turned_away_news&) {}
  void take(const files_unfit_news&) {}

  void introduce(const collective_meeting_actor& to, const std::string& peer, bool wants_answer);
  void forget(const std::string& peer);
  void settle();
  void fail(const std::string& why);
  std::string missing() const;

  local_meeting_actor::pointer self_;
  meeting_options options_;
  moment due_;
  std::map<std::string, met_process> met_;     ///< by name
  std::map<std::string, std::string> reasons_; ///< why a process has not been met, by name
  bool knows_all_ = false;
  bool is_over_ = false; ///< all have met, or the meeting has failed
  std::string problem_;
  caf::typed_response_promise<atom::begin> promise_;
};

local_meeting_actor::behavior_type
collective_meeting(self_pointer<local_meeting_actor, collective_meeting_state> self,
                   const meeting_options& options);

} // namespace troupe
