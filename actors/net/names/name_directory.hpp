// The directory of names: one in each process (networked_names.hpp). It turns connections that the gate has opened into
// met processes, and tells followers of a name which actor has it.
//
//   gate --opened--> handed to the actor system --> introductions both ways --> met
//     ^                                                                          |
//     +---- dialled again, after its names are forgotten <---- connection lost --+
//
// Each side sends its introduction anew whenever one of its actors is published or has ended. An introduction counts
// only from the directory of the process behind the connection, and only with actors of that process.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/net/links/handover.hpp"
#include "actors/net/links/messages.hpp"
#include "actors/net/names/messages.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>

namespace troupe {

/// The directory as its own process sees it.
using local_name_directory_actor = name_directory_actor::extend<
  // From the gate.
  caf::reacts_to<gate_event>,
  // Publishes the actor.
  caf::reacts_to<caf::publish_atom, named_actor>,
  // The actor follows the name: it gets (found, name, the name's actor or null) at once if there is one, and at each
  // change. Answered after that with the processes that are not reached, and why, for people.
  caf::replies_to<atom::watch, named_actor>::with<std::string>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

struct name_directory_options {
  cluster_plan plan;
  std::string own_name;
  std::function<void(uint64_t ticket, const verdict&)> answer;
  std::function<void(const std::string& name)> dial_again;
  /// Time from an open connection to the introduction; a round trip takes milliseconds. Doubled, a stalled connection
  /// is made anew twice as late.
  milliseconds introduction_deadline{5'000};
};

class name_directory_state {
public:
  explicit name_directory_state(local_name_directory_actor::pointer self) : self_(self) {}

  local_name_directory_actor::behavior_type make_behavior(const name_directory_options& options);

  static inline const char* name = "name-directory";

private:
  using named_actors = std::map<std::string, caf::strong_actor_ptr>;

  /// An open connection, and the process behind it.
  struct met_process {
    opened_news news;
    connection_hold hold;
    moment since;
    name_directory_actor directory; ///< null: not known yet
    bool is_introduced = false;
    named_actors actors;
  };
  struct followed_name {
    std::set<caf::actor> listeners;
    caf::strong_actor_ptr told; ///< what they know
  };

  void on_introduction(const name_introduction& news);
  void on_publish(const named_actor& what);
  std::string on_watch(const named_actor& what);
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

  void on_shown(const opened_news& news, const caf::strong_actor_ptr& shown);
  void introduce(const met_process& to, bool wants_answer);
  void announce();
  void forget(const std::string& peer);
  void tell_listeners();
  caf::strong_actor_ptr actor_of(const std::string& word) const;
  std::string not_reached() const;

  local_name_directory_actor::pointer self_;
  name_directory_options options_;
  named_actors own_;
  std::map<std::string, met_process> met_;     ///< by name
  std::map<std::string, std::string> reasons_; ///< why a process is not reached, by name
  std::map<std::string, followed_name> followed_;
};

local_name_directory_actor::behavior_type
name_directory(self_pointer<local_name_directory_actor, name_directory_state> self,
               const name_directory_options& options);

} // namespace troupe
