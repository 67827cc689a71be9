// Gradients keeper: gradients without steps that all wait for. It owns the main model and the
// optimizer; each trainer computes whole steps of its own and gets the newest parameters with the
// next one. Who waits, and what a late gradient is worth, is decided by the staleness rule
// (coordinators/modes/asynchronous_coordinator.hpp).
//
//   trainer --gradient of its step--> keeper --applied, kept or discarded--> version + 1
//      ^                                 |
//      +---- the next step's order ------+   at once, or when the rule lets it go on
//
// A version counts the gradients that came, whatever became of them, so that an epoch is as many
// rows as ever. Which of them went into the parameters depends on who came first: not
// reproducible.
//
// A lost trainer's step is given to another, and nobody waits for it. Its ticket is void: what it
// sent comes too late to be applied, and is counted as refused.

#pragma once

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/base/test_hooks.hpp"
#include "troupe/actors/orders/keeper_desk.hpp"
#include "troupe/coordinators/modes/asynchronous_coordinator.hpp"
#include "troupe/coordinators/modes/work_book.hpp"

#include <caf/stateful_actor.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct gradients_keeper_options {
  timeline plan; ///< of one slice
  evaluation_rows rows;
  asynchronous_options rule; ///< its trainer_count is that of the view
  test_hooks hooks;
};

class gradients_keeper_state {
public:
  explicit gradients_keeper_state(keeper_actor::pointer self) : self_(self) {}

  keeper_actor::behavior_type make_behavior(const gradients_keeper_options& options);

  static inline const char* name = "gradients-keeper";

private:
  void on_view(const view& news);
  void start();
  void on_down(const caf::down_msg& news);
  void lose(size_t trainer);
  void join(size_t trainer);
  void say_who_is_left(const std::string& what);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t replica, uint64_t round);
  void on_result(const trainer_result& news);
  trainer_figures on_figures() const;

  /// Gives a step to each trainer that may have one.
  void hand_out();
  void give_step(size_t trainer);
  void release(const std::vector<size_t>& trainers);
  void count(const trainer_result& news, const pushed_gradient& outcome);
  /// The model with these is the run's now.
  void count_applied();
  void note(trainer_event::kind what, size_t trainer, uint64_t ticket = 0, uint64_t step = 0,
            const staleness_decision& decision = {}) const;

  keeper_actor::pointer self_;
  gradients_keeper_options options_;
  std::optional<keeper_desk> desk_;
  std::optional<asynchronous_coordinator> coordinator_;
  std::optional<training_statistics> statistics_;
  std::optional<work_book> book_; ///< of steps
  std::vector<bool> waits_;       ///< each trainer: until it is released
  /// Gradients in the coordinator's model, not counted yet. A step that a loss completed is adopted
  /// with the next gradient; after the last one there is none, and it moves nothing.
  std::vector<applied_gradient> moved_;
};

keeper_actor::behavior_type
gradients_keeper(self_pointer<keeper_actor, gradients_keeper_state> self,
                 const gradients_keeper_options& options);

} // namespace troupe
