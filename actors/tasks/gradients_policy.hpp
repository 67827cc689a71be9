// Gradients policy: asynchronous training. Each trainer computes whole steps of its own and gets the newest parameters
// with the next one. The staleness rule decides which trainer waits, and what a late gradient is worth
// (coordinators/modes/staleness_rule.hpp); a gradient span applies the gradients (coordinators/modes/gradient_span.hpp).
//
//   trainer --gradient of its step--> parameter server --applied, kept or discarded--> version + 1
//      ^                                 |
//      +---- the next step's task ------+   at once, or when the rule lets it go on
//
// A version counts the gradients that came, applied or discarded, so an epoch always has the same number of rows. Which
// gradients are applied depends on the order in which they arrive: not reproducible.
//
// The parameter server gives a lost trainer's step to another trainer; no other trainer waits for it.

#pragma once

#include "actors/tasks/server_policy.hpp"
#include "coordinators/modes/asynchronous_coordinator.hpp"

#include <optional>
#include <string>

namespace troupe {

class gradients_policy : public server_policy {
public:
  /// `trainer_count` of the options is that of the roster.
  explicit gradients_policy(const asynchronous_options& options) : options_(options) {}

  void begin(server_records& records, span_model& span, state_loader* saved) override;
  void save(state_saver& out, const span_model& span) const override { span.save(out); }
  void on_joined(size_t place) override { rule_->on_joined(place); }
  server_outcome on_lost(size_t place, server_records& records, moment now) override;
  std::string remark() const override;

  std::optional<server_outcome> pass_over(server_records& records, moment now) override;
  uint64_t piece_limit(server_records& records) override { return records.model.step_limit(); }
  std::optional<trainer_task> task_for(size_t place, server_records& records, moment now) override;
  server_outcome on_result(const trainer_result& news, server_records& records,
                           moment now) override;

  server_outcome on_left_out(uint64_t piece, server_records& records, moment now) override;
  std::string in_words(uint64_t piece) const override { return "step " + std::to_string(piece); }
  piece_rows rows_of(uint64_t piece) const override { return {piece, 1, 0}; }

  uint64_t next_step(const server_records& records) const override {
    return records.roster.begun_count();
  }
  uint64_t piece_of(uint64_t, uint64_t step) const override { return step; }

private:
  bool holds_gradients() const {
    return options_.consistency.mode == consistency_kind::half_synchronous;
  }
  /// The gradients in place move the model.
  void close(const staleness_decision& decision, server_records& records);
  /// Those of a step that a loss completed, if there is one.
  void close_left(server_records& records);

  asynchronous_options options_;
  std::optional<staleness_rule> rule_;
  /// Gradients in the model that the statistics do not count yet.
  std::vector<applied_gradient> moved_;
  /// A loss completed a step. Its version is out already, so it moves the model when training goes on: with the next task
  /// or gradient. If there is none it is left out, and a checkpoint has its gradients as held ones.
  bool is_left_to_close_ = false;
};

} // namespace troupe
