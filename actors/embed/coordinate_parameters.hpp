// Parameters coordinator as an actor: it owns the main model. Children in any process train models
// of their own and send them. The coordinator merges them into the main model and answers each
// child with what became of its model. coordinators/modes/parameters_coordinator.hpp decides when
// and how it merges.
//
//   auto main = system.spawn(coordinate_parameters, coordinate_parameters_options{rule, initial});
//   self->request(main, timeout, child_model{7, 1, values, 120}).receive(
//     [](const merge_report& report) { .. }, ..);
//
// A child may register its number with a listener actor. If the rule's `push` is set, the
// coordinator sends the listener the main model after each round. When the listener ends, no round
// waits for this child any more. A child that registers another listener counts its models from 1
// again.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/run/configure.hpp"

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <optional>

namespace troupe {

/// How often a coordinator whose rounds end by time looks at the clock. On average a round ends
/// half of it late.
inline constexpr milliseconds coordinator_tick_interval{50};

struct coordinate_parameters_options {
  parameters_coordinator_options rule{};
  const_buffer initial; ///< P: the main model to begin with
};

class coordinate_parameters_state {
public:
  explicit coordinate_parameters_state(parameters_coordinator_actor::pointer self) : self_(self) {}

  parameters_coordinator_actor::behavior_type
  make_behavior(const coordinate_parameters_options& options);

  static inline const char* name = "parameters-coordinator";

private:
  /// A child's last answer, and the child's life in which it was sent.
  struct last_answer {
    merge_report report;
    caf::actor_addr life; ///< its listener; null: it never registered one
  };

  merge_report on_model(const child_model& news);
  void on_listener(uint64_t child, const model_listener_actor& listener);
  void on_down(const caf::down_msg& news);
  merge_report on_stop();
  void on_tick();
  parameter_span main_model() const;

  merge_report report_of(const parameters_outcome& outcome) const;
  /// Sends the main model to the listeners that the outcome names.
  void push(const parameters_outcome& outcome);

  parameters_coordinator_actor::pointer self_;
  std::optional<parameters_coordinator> rule_;
  std::map<uint64_t, model_listener_actor> listeners_; ///< by child
  std::map<uint64_t, last_answer> answered_;           ///< by child
};

/// Options that do not fit each other end the actor with the reason.
parameters_coordinator_actor::behavior_type
coordinate_parameters(self_pointer<parameters_coordinator_actor, coordinate_parameters_state> self,
                      const coordinate_parameters_options& options);

} // namespace troupe
