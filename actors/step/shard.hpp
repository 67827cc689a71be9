// Shard: owns a span of the parameters and its optimizer state.
//
// `shard_rule` decides which contributions count and when a step is complete, for each range of the span
// (gradient_ranges.hpp). Then this shell adds the contributions along the tree and applies the optimizer in one sweep,
// into the buffer of the next version. It keeps the parameters of the current and the previous version, so that there
// is always a version that every shard has.
//
// With a whole-model rule (models/whole_model/whole_model_rule.hpp) the shard announces each version with the point at
// which replicas take the step's gradient, if the rule has one.
//
// Clipping by norm, and some whole-model rules, need sums over the whole model. Then the shard adds into a buffer of
// its own and sends the other shards the numbers of its blocks. It updates when it has the numbers of all blocks
// (coordinators/step/sums_rule.hpp).
//
// A view with a new term begins that term: the shard goes to the view's start version, with the state in `shard_start`
// (none: the initial one). It copies a version for a checkpoint before it applies the next step. All shards copy the
// same versions, so the copies are a consistent cut and training need not stop. Copies for deputies are made likewise,
// but before the version is announced, and never before the last one has come to them
// (coordinators/membership/cut_rule.hpp).
//
// All shards add up the figures that travel with the gradients, so that a copy has them. The first shard with a span
// keeps the metrics: it reports them to the director. It also counts which replica came last at each step, for `figures`.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/base/test_hooks.hpp"
#include "actors/base/version_buffers.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/step/gradient_ranges.hpp"
#include "coordinators/run/replica_statistics.hpp"
#include "coordinators/step/copy_rule.hpp"
#include "coordinators/step/sums_rule.hpp"
#include "data/records/run_recorder.hpp"
#include "models/math/reduction.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/regularization.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The options that all shards of a process share.
struct shard_options {
  std::shared_ptr<const optimizer> rule;     ///< null for a whole-model rule
  std::shared_ptr<version_buffers> versions; ///< holds the start version's parameters
  size_t parameter_count = 0;                ///< of the whole model
  timeline plan;
  test_hooks hooks;
  regularization changes;        ///< of the mean gradient
  uint64_t checkpoint_every = 0; ///< steps between checkpoints (checkpoint_rule.hpp); 0: none
  std::shared_ptr<const whole_model_rule> whole_rule;
  bool follows_results =
    false; ///< no step is applied before a horizon beyond it: it brings the rate
  std::vector<index_range> tiles; ///< elements that replicas contribute together; empty: all
  std::shared_ptr<trace_ring> trace = {}; ///< each one's own; null: no timeline is wanted
  number_format exchange{};               ///< what each sum of gradients is rounded to
};

class shard_state {
public:
  explicit shard_state(shard_actor::pointer self) : self_(self) {}

  shard_actor::behavior_type make_behavior(const shard_options& options);

  static inline const char* name = "shard";

private:
  void on_view(const view& news);
  void on_contribution(const contribution& news);
  void on_block_sums(const block_sums& news);
  void on_horizon(const horizon& news);
  void on_start(const shard_start& news);
  caf::result<parameter_span> on_pull(uint64_t version);
  trainer_figures on_figures() const;

  /// Gives the statistics the replicas of the view.
  void watch_replicas();
  /// Goes to the start version of a new term.
  void restart();
  bool fits(const shard_start& start) const;
  void restore();
  /// Training ends at the current version: the state does not change any more.
  bool is_at_end() const { return horizon_.final && ranges_.version() == horizon_.version; }
  /// Sends the state for a checkpoint or for deputies, if this version is to be copied: a copy, unless it is at its end.
  /// False if the last copy has not come to all deputies: then the version waits.
  bool copy_if_due();
  /// Goes on with the version that was just made.
  void show_version();
  /// Once the step is complete and its rate is known: adds, updates and announces, or reports why not.
  void apply();
  /// Sends the other shards the numbers of its blocks.
  void tell_sums();
  /// Updates once the numbers of all blocks are known.
  void apply_reduced();
  /// `totals`: sums of the numbers of all blocks; empty if the step needs none.
  void update(const std::vector<summed_range>& gradients, const batch_sums& total,
              std::span<const double> totals);
  /// Writes version v + 1; the sums for the metrics, or nothing when it is not finite.
  std::optional<batch_sums> write_next(const std::vector<summed_range>& gradients,
                                       const batch_sums& total, std::span<const double> totals,
                                       std::span<float> next);
  void tell_applied(const index_range& elements, const batch_sums& total) const;
  /// Reports why the step was not applied; the shard's version does not change. `part`: the contribution that caused
  /// it, if it was one.
  void stop_here(uint64_t step, step_problem problem, std::string what,
                 const contribution* part = nullptr);
  void refuse_waiting();
  void report_not_finite();
  void announce(uint64_t version, const float_view& parameters, const float_view& point);
  /// Writes the point at which replicas take the step's gradient, if it is not the parameters.
  void place_point();
  /// Reports, when due, the hash of a row's version, and the metrics if this shard keeps them.
  void keep_metrics();
  void report();
  /// Answers pulls that came before their version.
  void answer_waiting();
  parameter_span span_of(uint64_t version, const float_view& parameters) const;

  shard_actor::pointer self_;
  shard_options options_;
  std::optional<shard_start> start_; ///< of the term it names
  bool has_view_ = false;
  view view_;
  index_range elements_; ///< its span of the parameters
  gradient_ranges ranges_;
  float_view current_; ///< of its span
  float_view previous_;
  optimizer_state state_;
  reducer reducer_;
  /// For checkpoints and deputies.
  struct {
    std::unique_ptr<buffer_pool> buffers; ///< of the span
    copy_rule rule;                       ///< of those for deputies
  } copies_;
  /// The point at which replicas take the step's gradient, if it is not the parameters.
  struct {
    std::shared_ptr<version_buffers> memory; ///< of the process; null when the rule has no point
    float_view values;                       ///< of the span, at the current version
  } point_;
  /// The step's summed gradient while sums over the model are missing.
  struct {
    sums_rule blocks; ///< the sums of all shards' blocks
    buffer gradient;
    batch_sums sums;
    bool is_there = false; ///< of the current step
  } reduced_;
  bool failed_ = false; ///< a value was not finite: its version stays where it is
  horizon_rule horizon_;
  /// The metrics; one shard of a run keeps them for all.
  struct {
    bool are_kept = false;
    batch_sums sums; ///< of the epoch of the last step
    replica_statistics statistics;
  } metrics_;

  /// The newest reported versions, so that nothing is reported twice.
  struct reported_versions {
    uint64_t row = 0;  ///< of the history
    uint64_t mark = 0; ///< the horizon
    uint64_t hash = 0;
    uint64_t copy = 0; ///< for a checkpoint
    uint64_t kept = 0; ///< copied for a later term
  };
  reported_versions told_;
  struct {
    std::chrono::steady_clock::time_point begin; ///< of the start version
    std::chrono::steady_clock::time_point last_report;
  } times_;

  struct waiting_pull {
    uint64_t version;
    caf::typed_response_promise<parameter_span> promise;
  };
  std::vector<waiting_pull> waiting_; ///< of later versions; the caller's deadline bounds the wait
};

shard_actor::behavior_type shard(self_pointer<shard_actor, shard_state> self,
                                 const shard_options& options);

} // namespace troupe
