// A coordinator's handle that outlives the coordinator: an actor in this process that follows a name (networked_names.hpp)
// and passes all on to the coordinator that has it now, in whatever process.
//
//   member --> link --> coordinator "main", here or on another node
//
// While nobody has the name, questions are answered with an error, as are those that were under way. So members ask again,
// and join the next coordinator of the name, which goes on from its checkpoint. Watchers are passed on
// to each new one.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/net/names/find_coordinator.hpp"
#include "actors/protocol/coordinator_messages.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>

namespace troupe {

/// The link as its directory sees it.
using local_coordinator_actor =
  coordinator_actor::extend<caf::reacts_to<atom::found, std::string, caf::strong_actor_ptr>>;

class coordinator_link_state {
public:
  explicit coordinator_link_state(local_coordinator_actor::pointer self) : self_(self) {}

  local_coordinator_actor::behavior_type make_behavior(const std::string& word);

  static inline const char* name = "coordinator-link";

private:
  void on_found(const caf::strong_actor_ptr& which);
  void on_watch(const model_listener_actor& watcher);

  /// Passes a question on; the answer is the coordinator's, or an error once it is gone.
  template <class Answer, class... Question>
  caf::result<Answer> pass_on(const Question&... question);
  caf::error absence() const;

  local_coordinator_actor::pointer self_;
  std::string word_;
  coordinator_actor there_; ///< null: nobody has the name
  std::map<uint64_t, std::function<void()>>
    under_way_; ///< what is said of each question once it is gone
  uint64_t next_question_ = 0;
  std::set<model_listener_actor> watchers_;
};

local_coordinator_actor::behavior_type
coordinator_link(self_pointer<local_coordinator_actor, coordinator_link_state> self,
                 const std::string& word);

} // namespace troupe
