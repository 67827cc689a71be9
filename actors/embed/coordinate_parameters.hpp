// Parameters coordinator as an actor: children anywhere train models of their own and send them; it
// merges them into the main model (coordinators/modes/parameters_coordinator.hpp decides when and
// how), and answers each with what became of its model.
//
//   auto main = system.spawn(coordinate_parameters, coordinate_parameters_options{rule, initial});
//   self->request(main, timeout, child_model{7, 1, values, 120}).receive(
//     [](const merge_report& report) { .. }, ..);
//
// A child that says where it is (its number, a listener) is sent the main model after each round if
// the rule's `push` is set. Once it has ended nobody waits for it. When it says where it is anew, with
// another listener, it counts its models from 1 again. Its mailbox is the queue.

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

/// How often a coordinator whose rounds end by time looks at the clock. Half of it, on average, is
/// what a round takes longer than its period.
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
  /// A child's last answer, and in which life of the child.
  struct last_answer {
    merge_report report;
    caf::actor_addr life; ///< its listener; null: it never said where it is
  };

  merge_report on_model(const child_model& news);
  void on_listener(uint64_t child, const model_listener_actor& listener);
  void on_down(const caf::down_msg& news);
  merge_report on_stop();
  void on_tick();
  parameter_span main_model() const;

  merge_report report_of(const parameters_outcome& outcome) const;
  /// Sends the main model to those who are to have it now.
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
