// Rounds keeper: the strategy `parameters`. It owns the main model and the members' optimizer
// states; members train alone for some steps, on whichever trainer is free, and when all of a round
// are back their models are merged (coordinators/modes/local_rounds.hpp).
//
//   round open: every member to a free trainer --all are back--> merged --below the horizon--> open
//
// What a member does follows from (member, round), and merging runs in the order of members, so
// neither the number of trainers nor who came first shows in the bits, nor who was lost: a lost
// trainer's member is given to another, who goes on from the same model and state. The figures of a
// round are added up in the order of members too.

#pragma once

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/base/test_hooks.hpp"
#include "troupe/actors/orders/keeper_desk.hpp"
#include "troupe/coordinators/modes/local_rounds.hpp"
#include "troupe/coordinators/modes/work_book.hpp"

#include <caf/stateful_actor.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace troupe {

struct rounds_keeper_options {
  timeline plan; ///< as many slices as members
  evaluation_rows rows;
  local_rounds_options rounds;
  size_t slot_count = 0; ///< of a member's optimizer state
  test_hooks hooks;
};

class rounds_keeper_state {
public:
  explicit rounds_keeper_state(keeper_actor::pointer self) : self_(self) {}

  keeper_actor::behavior_type make_behavior(const rounds_keeper_options& options);

  static inline const char* name = "rounds-keeper";

private:
  void on_view(const view& news);
  void start();
  void on_down(const caf::down_msg& news);
  void lose(size_t trainer);
  void join(size_t trainer);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t replica, uint64_t round);
  void on_result(const trainer_result& news);
  trainer_figures on_figures() const;

  /// Opens a round if it may.
  void advance();
  /// Gives members that nobody has to trainers that have nothing to do.
  void hand_out();
  void give_member(size_t trainer);
  void use(const trainer_result& news);
  void note(trainer_event::kind what, size_t trainer, uint64_t ticket = 0,
            uint64_t member = 0) const;
  void close_round();

  keeper_actor::pointer self_;
  rounds_keeper_options options_;
  std::optional<keeper_desk> desk_;
  std::optional<local_rounds> rounds_;
  std::optional<training_statistics> statistics_;
  std::vector<optimizer_state> states_; ///< of each member
  std::vector<batch_sums> sums_;        ///< of each member, of the open round
  std::optional<work_book> book_;       ///< of the open round's members
  std::vector<uint64_t> tickets_;       ///< each trainer's last order's; 0: there is none
  uint64_t last_ticket_ = 0;
  bool open_ = false;
  uint64_t end_ = 0; ///< version after the open round
};

keeper_actor::behavior_type rounds_keeper(self_pointer<keeper_actor, rounds_keeper_state> self,
                                          const rounds_keeper_options& options);

} // namespace troupe
