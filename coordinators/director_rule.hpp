// The director rule: the course of one training run, as a state machine.
//
//               the row of the last version is complete
//   training --------------------------------------------> ending
//      |  ^                                                  ^
//      |  | every replica answered: the stop version is named |
//      v  |                                                  |
//   holding   (an interrupt: replicas say where they stand)  |
//      |          something is not finite                    |
//      +-----------------------------------------------------+   (from training too)
//
// Events come in with their time; decisions go out as a list, to be carried out in order. A row of
// the history is complete when the training sums of its epoch and, if its version is evaluated, all
// chunks of the evaluation are there; rows complete in order of version. While a stop rule reads
// results, replicas may run up to the next evaluated version only, and go on when its row says so.
// The result is a *version*; whatever ran beyond it is of no account.

#pragma once

#include "troupe/coordinators/replica_rule.hpp"
#include "troupe/coordinators/stop_rule.hpp"
#include "troupe/coordinators/timeline.hpp"
#include "troupe/models/batch.hpp"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// What a director needs to know of its job.
struct director_rule_options {
  timeline plan;
  stop_rule_options stop;
  size_t replica_count = 1;  ///< replicas that hold slices: those that answer `hold`
  size_t test_row_count = 0; ///< 0: nothing is evaluated, rules read the training loss

  friend bool operator==(const director_rule_options&, const director_rule_options&) = default;
};

/// One row: the figures of the steps since the row before. A second row of the same version
/// replaces the first (an interrupt made that version the last one, so it was evaluated after all).
struct epoch_figures {
  uint64_t version = 0;
  batch_sums train;               ///< over the samples of the row's steps
  std::optional<batch_sums> test; ///< when the version was evaluated and there are test rows

  friend bool operator==(const epoch_figures&, const epoch_figures&) = default;
};

/// Where something that is not finite appeared.
struct divergence {
  uint64_t step = 0; ///< the step that could not be applied; its version is the last finite one
  std::string what;  ///< "gradient of slice 3" and the like
  std::optional<size_t> slice;

  friend bool operator==(const divergence&, const divergence&) = default;
};

// Decisions.
struct allow_up_to {
  horizon_rule horizon;
  friend bool operator==(const allow_up_to&, const allow_up_to&) = default;
};
struct hold_replicas {
  friend bool operator==(const hold_replicas&, const hold_replicas&) = default;
};
struct publish_row {
  epoch_figures figures;
  friend bool operator==(const publish_row&, const publish_row&) = default;
};
/// Fetch the parameters of `version` and end; `reason` says why. A second one replaces the first: a
/// shard could not reach that version.
struct finish_at {
  uint64_t version = 0;
  stop_reason reason = stop_reason::none;
  friend bool operator==(const finish_at&, const finish_at&) = default;
};

using director_decision = std::variant<allow_up_to, hold_replicas, publish_row, finish_at>;
using director_decisions = std::vector<director_decision>;

class director_rule {
public:
  explicit director_rule(const director_rule_options& options);

  /// Training begins.
  director_decisions start();
  /// Sums of the steps since the last such report, up to `version`: an epoch's end or the horizon.
  /// A version that was reported before is ignored.
  director_decisions on_trained(uint64_t version, const batch_sums& sums);
  /// Chunks [first, first + sums.size()) of the evaluation of `version`.
  director_decisions on_evaluated(uint64_t version, size_t first_chunk,
                                  const std::vector<batch_sums>& sums);
  /// A replica on hold: `next_step` is the first it has not started.
  director_decisions on_held(size_t replica, uint64_t next_step);
  director_decisions on_not_finite(const divergence& what);
  /// Somebody asked to stop; the sooner the better. Before `start`, training ends as it begins.
  director_decisions on_stop_requested();

  enum class phase : uint8_t { training, holding, ending };
  phase state() const { return phase_; }
  const std::optional<divergence>& diverged() const { return diverged_; }
  const stop_rule& rule() const { return rule_; }

private:
  horizon_rule horizon_after(uint64_t version) const;
  /// Turns complete pending rows into decisions, oldest first.
  void complete_rows(director_decisions& out);
  std::optional<batch_sums> evaluation_of(uint64_t version) const;
  bool needs_evaluation(uint64_t version) const;
  bool is_end(uint64_t version) const;
  /// Ends when the version named by an interrupt had its row before it was named.
  void end_at_last_row(director_decisions& out);
  void on_row(const epoch_figures& row, director_decisions& out);
  void finish(uint64_t version, stop_reason reason, director_decisions& out);
  stop_reason natural_end() const;

  director_rule_options options_;
  stop_rule rule_;
  phase phase_ = phase::training;
  horizon_rule horizon_;
  bool interrupted_ = false;
  std::map<uint64_t, batch_sums> trained_; ///< reported, their rows not complete yet
  std::map<uint64_t, std::map<size_t, batch_sums>> evaluated_; ///< chunks by version
  std::map<size_t, uint64_t> held_;                            ///< next step by replica
  std::optional<epoch_figures> last_row_;
  uint64_t end_version_ = 0; ///< of the result, once ending
  std::optional<divergence> diverged_;
};

} // namespace troupe
