// Gradients keeper: gradients without steps that all wait for. It owns the main model and the
// optimizer; each trainer computes whole steps of its own and gets the newest parameters with the
// next one. Who waits, and what a late gradient is worth, is decided by the staleness rule
// (coordinators/asynchronous_coordinator.hpp).
//
//   trainer --gradient of its step--> keeper --applied, kept or discarded--> version + 1
//      ^                                 |
//      +---- the next step's order ------+   at once, or when the rule lets it go on
//
// A version counts the gradients that came, whatever became of them, so that an epoch is as many
// rows as ever. Which of them went into the parameters depends on who came first: not
// reproducible.

#pragma once

#include "troupe/actors/keeper_desk.hpp"
#include "troupe/coordinators/asynchronous_coordinator.hpp"

#include <caf/stateful_actor.hpp>

#include <optional>
#include <vector>

namespace troupe {

struct gradients_keeper_options {
  timeline plan; ///< of one slice
  evaluation_rows rows;
  asynchronous_options rule; ///< its trainer_count is that of the view
};

class gradients_keeper_state {
public:
  explicit gradients_keeper_state(keeper_actor::pointer self) : self_(self) {}

  keeper_actor::behavior_type make_behavior(const gradients_keeper_options& options);

  static inline const char* name = "gradients-keeper";

private:
  enum class trainer_phase : uint8_t { idle, computes, waits };

  void on_view(const view& news);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t replica, uint64_t round);
  void on_result(const trainer_result& news);
  trainer_figures on_status() const;

  /// Gives a step to each trainer that may have one.
  void hand_out();
  void give_step(size_t trainer);
  void count(size_t trainer, const pushed_gradient& outcome);

  keeper_actor::pointer self_;
  gradients_keeper_options options_;
  std::optional<keeper_desk> desk_;
  std::optional<asynchronous_coordinator> coordinator_;
  std::optional<training_statistics> statistics_;
  std::vector<trainer_phase> phases_;
  uint64_t begun_count_ = 0; ///< steps handed out
};

keeper_actor::behavior_type
gradients_keeper(keeper_actor::stateful_pointer<gradients_keeper_state> self,
                 const gradients_keeper_options& options);

} // namespace troupe
