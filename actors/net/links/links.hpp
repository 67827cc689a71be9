// Links: one in each process of a cluster. It turns connections that the gate has opened into
// links: the node gets the handles of the director and of every other node, the director those of
// all nodes. It answers for its process's name, and reports the end of the process's part.
//
//   gate --opened--> handed to the actor system --> introductions both ways --> linked
//                                                                                 |
//     node: (incarnation, director), (name, incarnation, node)   <----------------+
//     director: (member, node)                                   <----------------+
//
// A peer that is not introduced in time is forgotten. Its connection is cut, so that the other side
// does not think it is linked. A process that comes again over a new connection has given up the
// old one, which is cut, too. So a stall at any moment costs only time.
//
// A process that the director turns away (no view names this life of it) joins anew under another
// incarnation over the same link. When a link is lost the gate dials again.
//
// It runs on a thread of its own: it answers a ping while all cores compute.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/net/links/handover.hpp"
#include "actors/net/links/messages.hpp"
#include "coordinators/links/dial_clock.hpp"
#include "coordinators/links/director_watch.hpp"
#include "coordinators/links/end_notice.hpp"
#include "coordinators/links/joiner_places.hpp"
#include "coordinators/links/name_registry.hpp"
#include "coordinators/links/rate_limit.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "coordinators/run/waits.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class carriers; // actors/net/carriers/carriers.hpp

/// How long the holder of a name may take to say that it is alive. A round trip takes under a
/// millisecond; doubled, a newcomer waits twice as long for its refusal.
inline constexpr milliseconds ping_deadline{1'000};

/// Deadline of the director's status. The director never computes; doubled, a visitor of a lost
/// director waits twice as long.
inline constexpr milliseconds status_deadline{2'000};

/// How often the links look for due work.
inline constexpr milliseconds links_tick_interval{100};

/// Time before a process that was turned away joins anew: the cause may not be over yet.
inline constexpr milliseconds rejoin_delay{200};

/// Time before a peer that refused is dialled again: people must repair it first.
inline constexpr milliseconds refused_dial_delay{2'000};

/// Time between two lines about strangers for one reason; the others are only counted.
inline constexpr milliseconds stranger_line_interval{1'000};

/// The links' calls to the gate; functions, so that tests need no gate.
struct gate_calls {
  std::function<void(uint64_t ticket, const verdict&)> answer;
  std::function<void(uint64_t ticket, const std::string& line)> answer_visit;
  std::function<void(const std::string& name)> dial_again;
  std::function<void(const std::string& name, const endpoint& where)> dial_now;
  std::function<void(const std::string& name)> forget;
  std::function<void(uint64_t term)> see_term;
  std::function<void(const verdict& over)> close;
};

struct links_options {
  cluster_plan plan;
  std::string own_name;
  gate_calls gate;
  process_observer observer;
  std::string table = {}; ///< of rows that some nodes have and others do not, for who asks for it
  std::shared_ptr<carriers> carrying = {}; ///< gets each link; null: pieces are messages
  /// Time for the actor systems' handshake and the introductions once a connection is open. A round
  /// trip takes milliseconds; doubled, a stalled link is made anew twice as late.
  milliseconds introduction_deadline{5'000};
};

class links_state {
public:
  explicit links_state(local_links_actor::pointer self) : self_(self) {}

  local_links_actor::behavior_type make_behavior(const links_options& options);

  static inline const char* name = "links";

private:
  /// An open connection whose peer has not introduced itself yet.
  struct opened {
    opened_news news;
    connection_hold hold;
    links_actor shown;        ///< shown by the accepting side; null before
    carrier_offer offer = {}; ///< of this side
  };
  struct linked {
    introduction peer;
    uint64_t own_incarnation = 0;
    connection_hold hold;
    std::string address; ///< where others dial it; empty: as the cluster file says
  };

  void on_actors(const local_node_actor& node, const director_actor& director);
  void on_introduction(const introduction& news);
  bool is_from_director() const;
  atom::stop on_farewell(const farewell& news);
  void on_standing(const standing& news);
  caf::typed_response_promise<atom::stop> on_stop(const farewell& news);
  void on_down(const caf::down_msg& news);
  void on_tick();

  // Events of the gate.
  void take(const candidate_news& news);
  void take(const withdrawn_news& news);
  void take(const visitor_news& news);
  void take(const opened_news& news);
  void take(const refused_news& news);
  void take(const turned_away_news& news);
  void take(const files_unfit_news& news);
  void take(const failing_news& news);

  void ask_holder(const candidate_news& news);
  void on_shown(const opened_news& news, const caf::strong_actor_ptr& shown);
  void introduce(const links_actor& to, uint64_t own_incarnation, bool wants_answer,
                 const carrier_offer& offer = {});
  void link(const introduction& news, opened&& connection);
  void lose(const std::string& peer);
  void join_director(const introduction& news);
  void join_anew();
  void forget(uint64_t ticket, const char* why);
  void tell_waits(moment now);
  void say(const std::string& line);
  void say_of_strangers(const std::string& what, const std::string& why);
  void end(uint8_t code, const std::string& reason, const std::string& hint = {});
  void confirm_end();

  local_links_actor::pointer self_;
  links_options options_;
  std::string director_name_;
  local_node_actor node_;
  director_actor director_;              ///< null unless it is in this process
  name_registry names_{milliseconds{0}}; ///< until `make_behavior`
  joiner_places joiners_;                ///< on the director
  std::map<std::string, opened> opened_;
  std::map<std::string, linked> linked_;
  reported_once failing_;               ///< reasons why names cannot be reached
  std::optional<director_watch> watch_; ///< unless the director is here
  std::optional<moment> linked_at_;     ///< when the director was linked, until a view comes
  wait_reporter teller_;
  line_limit strangers_{stranger_line_interval};
  struct {
    std::optional<moment> at;
    bool is_out = false; ///< taken out by the director, and not back yet
  } rejoining_;
  std::string work_;                       ///< as said last
  std::map<std::string, moment> dials_at_; ///< of peers that have refused
  bool is_over_ = false;
  struct {
    end_notice others; ///< who they are that have to know it
    caf::typed_response_promise<atom::stop> answer;
  } stopping_;
};

local_links_actor::behavior_type links(self_pointer<local_links_actor, links_state> self,
                                       const links_options& options);

} // namespace troupe
