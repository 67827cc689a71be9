// Online learner as an actor: any number of actors send it batches. It learns them in the order
// they arrive, and answers each with a verdict. An actor that serves predictions pulls the current
// parameters; they never include an update that went wrong (coordinators/modes/online_learner.hpp
// decides).
//
//   auto learner = system.spawn(online, online_options{network, parameters, {}, {}});
//   self->request(learner, timeout, online_batch{..}).receive(
//     [](const online_report& report) { std::puts(report.reason.c_str()); }, ..);
//
// The actor learns each batch in a turn of its own, between its other messages: a pull waits for
// one batch at most. While `queue_max` batches wait it refuses further ones.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/run/configure.hpp"
#include "coordinators/modes/online_learner.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <memory>
#include <optional>

namespace troupe {

struct online_options {
  std::shared_ptr<const model> network;
  const_buffer parameters;
  online_learner_options rule{};
  std::optional<online_rows> validation{}; ///< none: rolls back only values that are not finite
};

class online_state {
public:
  explicit online_state(online_actor::pointer self) : self_(self) {}

  online_actor::behavior_type make_behavior(const online_options& options);

  static inline const char* name = "online";

private:
  caf::result<online_report> on_batch(const online_batch& news);
  parameter_span on_pull() const;
  void on_tick();

  online_actor::pointer self_;
  std::optional<online_learner> learner_;
  std::deque<caf::typed_response_promise<online_report>>
    waiting_; ///< for its batches, in their order
};

/// Options that do not fit each other end the actor with the reason.
online_actor::behavior_type online(self_pointer<online_actor, online_state> self,
                                   const online_options& options);

} // namespace troupe
