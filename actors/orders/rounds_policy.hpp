// Rounds policy: the strategy `parameters`. The parameter server owns the main model and the members'
// optimizer states; members train alone for some steps, on whichever trainer is free, and when all
// of a round are back their models are merged (coordinators/modes/local_rounds.hpp).
//
//   round open: every member to a free trainer --all are back--> merged --below the horizon--> open
//
// What a member does follows from (member, round), and merging runs in the order of members, so
// neither the number of trainers nor who came first shows in the bits, nor who was lost: a lost
// trainer's member is given to another, who goes on from the same model and state. The figures of a
// round are added up in the order of members too.

#pragma once

#include "actors/orders/server_policy.hpp"
#include "coordinators/modes/local_rounds.hpp"

#include <optional>
#include <vector>

namespace troupe {

struct rounds_policy_options {
  timeline plan; ///< as many slices as members
  local_rounds_options rounds;
  size_t slot_count = 0; ///< of a member's optimizer state
};

class rounds_policy : public server_policy {
public:
  explicit rounds_policy(const rounds_policy_options& options) : options_(options) {}

  void begin(server_records& records, state_loader* saved) override;
  void save(state_saver& out) const override;

  /// Opens a round if it may.
  uint64_t piece_limit(server_records& records) override;
  std::optional<trainer_order> order_for(size_t place, server_records& records,
                                         moment now) override;
  used_result on_result(const trainer_result& news, server_records& records, moment now) override;

  std::string on_left_out(uint64_t piece, server_records& records, moment now) override;
  std::string in_words(uint64_t piece) const override;
  piece_rows rows_of(uint64_t piece) const override { return {begin_, end_ - begin_, piece}; }

  uint64_t next_step(const server_records& records) const override {
    return open_ ? end_ : records.model.version();
  }
  uint64_t piece_of(uint64_t member, uint64_t) const override { return member; }
  uint64_t round() const override { return rounds_->round(); }

private:
  void load(state_loader& in);
  void close_round(server_records& records, moment now);

  rounds_policy_options options_;
  std::optional<local_rounds> rounds_;
  std::vector<optimizer_state> states_; ///< of each member; nobody writes to them any more
  std::vector<batch_sums> sums_;        ///< of each member, of the open round
  uint64_t last_ticket_ = 0;
  bool open_ = false;
  uint64_t begin_ = 0; ///< version before the open round
  uint64_t end_ = 0;   ///< version after it
};

} // namespace troupe
