// Rounds policy: the strategy `parameters`. In each round every member trains alone for some steps,
// on any free trainer. When all members' models are back they are merged
// (coordinators/modes/local_rounds.hpp): a merged span has the main model and the members' optimizer
// states (coordinators/modes/merged_span.hpp).
//
//   round open: every member to a free trainer --all are back--> merged --below the horizon--> open
//
// A member's steps follow from (member, round), and models are merged in the order of members. So
// the bits depend neither on the number of trainers, nor on the order of results, nor on losses:
// another trainer gets a lost trainer's member, with the same model and state. A round's figures
// are added in the order of members, too.

#pragma once

#include "actors/tasks/server_policy.hpp"
#include "coordinators/modes/local_rounds.hpp"

#include <optional>
#include <vector>

namespace troupe {

struct rounds_policy_options {
  timeline plan; ///< as many slices as members
  local_rounds_options rounds;
};

class rounds_policy : public server_policy {
public:
  explicit rounds_policy(const rounds_policy_options& options) : options_(options) {}

  void begin(server_records& records, span_model& span, state_loader* saved) override;
  void save(state_saver& out, const span_model& span) const override;

  /// Opens the next round if the horizon allows.
  uint64_t piece_limit(server_records& records) override;
  std::optional<trainer_task> task_for(size_t place, server_records& records, moment now) override;
  server_outcome on_result(const trainer_result& news, server_records& records,
                           moment now) override;

  server_outcome on_left_out(uint64_t piece, server_records& records, moment now) override;
  std::string in_words(uint64_t piece) const override;
  piece_rows rows_of(uint64_t piece) const override { return {begin_, end_ - begin_, piece}; }

  uint64_t next_step(const server_records& records) const override {
    return open_ ? end_ : records.model.version();
  }
  uint64_t piece_of(uint64_t member, uint64_t) const override { return member; }
  uint64_t round() const override { return round_; }

private:
  next_version close_round(server_records& records, moment now);

  rounds_policy_options options_;
  std::optional<round_members> members_;
  std::vector<batch_sums> sums_; ///< of each member, of the open round
  uint64_t last_ticket_ = 0;
  uint64_t round_ = 0;
  bool open_ = false;
  uint64_t begin_ = 0; ///< version before the open round
  uint64_t end_ = 0;   ///< version after it
};

} // namespace troupe
