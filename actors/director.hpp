// Director: one for each job. It says how far training may go, keeps the history, answers questions
// at any time, and ends the run. It computes nothing and runs on a thread of its own, so it answers
// while all cores are busy.
//
// The course of a run is decided by `director_rule`; this shell turns messages into its events and
// its decisions into messages, and fetches parameters from the shards: those of the best version so
// far, which it keeps, and those of the last one.

#pragma once

#include "troupe/actors/protocol/messages.hpp"
#include "troupe/actors/span_collector.hpp"
#include "troupe/coordinators/director_rule.hpp"
#include "troupe/models/optimizers/optimizer_options.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace troupe {

struct director_options {
  director_rule_options rule;
  optimizer_options optimizer; ///< for the learning rate in the history
  bool classification = true;
  double test_total_squares = 0; ///< regression: of the test targets around their mean
  double validation_total_squares = 0;
  size_t parameter_count = 0;
};

/// How long a shard or replica may take to answer when parameters are fetched or training ends: it
/// may be in the middle of a long step, so this is far more than any step should take.
inline constexpr std::chrono::minutes collect_deadline{10};

class director_state {
public:
  explicit director_state(director_actor::pointer self) : self_(self) {}

  director_actor::behavior_type make_behavior(const director_options& options);

  static inline const char* name = "director";

private:
  using clock = std::chrono::steady_clock;

  void on_view(const view& news);
  void on_begin();
  training_status on_status() const;
  void on_watch(const observer_actor& observer);
  void on_training_report(const training_report& news);
  void on_evaluation(const evaluation& news);
  void on_not_finite(const not_finite_report& news);
  void on_down(const caf::down_msg& news);
  caf::result<parameter_span> on_pull() const;

  void carry_out(const director_decisions& decisions);
  void carry_out(const allow_up_to& decision);
  void carry_out(const hold_replicas& decision);
  void carry_out(const publish_row& decision);
  void carry_out(const keep_version& decision);
  void carry_out(const finish_at& decision);

  /// Fetches every span of a version; what was being fetched before is forgotten.
  void fetch(uint64_t version);
  void on_span(const parameter_span& part);
  /// The parameters of `version` are whole: kept as the best, or the result.
  void on_fetched(uint64_t version, const const_buffer& parameters);
  /// Asks every replica what it has done.
  void ask_replicas();
  void on_replica_status(size_t replica, const replica_status& status);
  void finish_when_complete();
  /// Makes the run fail when `who` does not answer, unless its answer is no longer waited for.
  std::function<void(const caf::error&)> fail_unless_late(const char* who, size_t index);
  std::string problem_text() const;
  void fail(const std::string& why);
  void publish_finished();

  history_row row_of(const epoch_figures& figures) const;
  training_progress progress_at(uint64_t version, const batch_sums& sums) const;
  double seconds_at(uint64_t version) const;
  std::string waits_for() const;
  double seconds_since_begin() const;

  friend director_actor::behavior_type
  director(director_actor::stateful_pointer<director_state> self, const director_options& options,
           const view& company);

  director_actor::pointer self_;
  director_options options_;
  std::optional<director_rule> rule_;
  view view_;
  std::vector<observer_actor> observers_;
  std::optional<clock::time_point> begin_;
  double row_seconds_ = 0;                    ///< when the last published row ended
  std::map<uint64_t, double> report_seconds_; ///< when reported versions came to be
  uint64_t version_ = 0;                      ///< the newest heard of
  std::vector<history_row> history_;
  size_t round_ = 0; ///< of questions to shards and replicas: answers to an earlier one are late
  size_t missing_answers_ = 0;             ///< at the end
  uint64_t fetched_version_ = 0;           ///< being fetched
  std::optional<span_collector> spans_;    ///< of fetched_version_
  const_buffer best_parameters_;           ///< kept; those of rule_->best()
  std::optional<const_buffer> parameters_; ///< the result
  training_finished result_;
  bool finished_ = false;
};

/// `company` names the actors and what they own; its director is filled in and it is sent to all.
director_actor::behavior_type director(director_actor::stateful_pointer<director_state> self,
                                       const director_options& options, const view& company);

} // namespace troupe
