// Gradients coordinator as an actor: it owns the main model. Trainers in any process pull its
// parameters, compute gradients at them and hand these in; it applies them.
// coordinators/modes/asynchronous_coordinator.hpp decides which trainer waits and which gradient is
// too late.
//
//   trainer --pull, its index--> coordinator --gradient_work--> trainer     (later if it has to wait)
//   trainer --gradient_offer---> coordinator --gradient_report--> trainer
//
// A trainer may register its index with a listener actor. When the listener ends, no other trainer
// waits for this one any more. It counts again when its index is registered anew.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/run/configure.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

struct coordinate_gradients_options {
  asynchronous_options rule;
  const_buffer initial; ///< P: the main model to begin with
};

class coordinate_gradients_state {
public:
  explicit coordinate_gradients_state(gradients_coordinator_actor::pointer self) : self_(self) {}

  gradients_coordinator_actor::behavior_type
  make_behavior(const coordinate_gradients_options& options);

  static inline const char* name = "gradients-coordinator";

private:
  using promise = caf::typed_response_promise<gradient_work>;

  caf::result<gradient_work> on_pull(uint64_t trainer);
  gradient_report on_offer(const gradient_offer& news);
  caf::result<void> on_listener(uint64_t trainer, const model_listener_actor& listener);
  void on_down(const caf::down_msg& news);
  parameter_span main_model() const;

  /// Answers the pulls of trainers that need not wait any more.
  void release(const std::vector<size_t>& trainers);
  void refuse_waiting(uint64_t trainer);

  gradients_coordinator_actor::pointer self_;
  std::optional<asynchronous_coordinator> rule_;
  size_t trainer_count_ = 0;
  std::map<uint64_t, model_listener_actor> listeners_; ///< by trainer
  std::set<uint64_t> lost_;
  std::map<uint64_t, std::vector<promise>> waiting_; ///< pulls by trainer
};

/// Options that do not fit each other end the actor with the reason.
gradients_coordinator_actor::behavior_type
coordinate_gradients(self_pointer<gradients_coordinator_actor, coordinate_gradients_state> self,
                     const coordinate_gradients_options& options);

} // namespace troupe
