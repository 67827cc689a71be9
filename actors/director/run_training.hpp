// Run training: how far a run goes, and its end. It turns reports of shards and replicas into
// events of the director rule (coordinators/run/director_rule.hpp), and the rule's decisions into
// directives, rows, fetches, checkpoints, and the result.
//
//   rows, evaluations, holds --> rule --> horizon | hold | row | keep | checkpoint | finish

#pragma once

#include "actors/director/past_rows.hpp"
#include "actors/director/run_history.hpp"
#include "actors/director/run_membership.hpp"
#include "actors/director/run_tensors.hpp"
#include "actors/protocol/messages.hpp"
#include "coordinators/run/director_rule.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/disk/stored_tensor.hpp"
#include "data/text/failure.hpp"

#include <caf/result.hpp>

#include <optional>
#include <string>

namespace troupe {

// Run end: the version that a run ends with, and the missing parts of its result. A plain object.
//
//   open --name--> named --set_parameters, all counted and written--> complete
//    ^               |
//    +--begin_term---+        fail, end_at: complete at once, from anywhere

class run_end {
public:
  /// A term begins: the end is no longer named.
  void begin_term();
  /// The rule ends training: fills in the result's figures. `seconds`: trained up to its end
  /// version.
  void name(const finish_at& decision, const director_rule& rule, double seconds);
  /// An interrupt ends the run at this checkpoint, or with the best version that the checkpoint
  /// holds.
  void end_at(const checkpoint& last, const std::optional<best_version>& kept);
  void fail(const failure& why);

  bool is_named() const { return is_named_; }
  /// True if this kept version is the result.
  bool is_of(const std::optional<best_version>& kept) const;
  void set_parameters(const stored_tensor& values) { parameters_ = values; }
  const std::optional<stored_tensor>& parameters() const { return parameters_; }

  training_finished& result() { return result_; }
  const training_finished& result() const { return result_; }

private:
  bool is_named_ = false;
  training_finished result_;
  std::optional<stored_tensor> parameters_;
};

class run_training {
public:
  run_training(director_context& context, run_history& history, const process_roster& roster,
               run_watch& watch, run_announcer& announcer, const run_writes& writes,
               run_tensors& tensors, run_membership& membership);

  // ---- Events ----

  void on_report(const training_report& news);
  void on_evaluation(const evaluation& news);
  void on_hash(const span_hash& news);
  void on_not_finite(const not_finite_report& news);
  /// All hold, and the result is this version; nothing: it is not named yet.
  void stop_at_named(run_announcer::named_version version);
  /// All are to stop at a version: for good, or for a term that begins there.
  void on_stop(bool is_cut = false);
  void on_view(const publish& news);
  void on_fetched(uint64_t version, const stored_tensor& parameters);
  void on_checkpoint(uint64_t version);
  /// Asks for missing tensors and figures.
  void tick(moment now);

  // ---- The end ----

  /// Ends the run once it has all parameters, all processes have reported their figures, and the
  /// last checkpoint is written. Observers get the result only when no write is under way.
  void finish_if_complete();
  /// Ends with the last checkpoint as the result, without help of other processes; fails if there
  /// is none. Does nothing while a checkpoint is being written, which may count: call it again
  /// then.
  void end_at_checkpoint(const std::string& why);
  void fail(const failure& why);
  caf::result<trained_model> pull() const;

  director_rule::phase state() const { return rule_.state(); }
  const training_finished& result() const { return end_.result(); }
  /// Observers have the result.
  bool has_reported_result() const { return has_reported_result_; }

private:
  void carry_out(const director_decisions& decisions);
  void carry_out(const allow_up_to& decision);
  void carry_out(const hold_replicas&) { stop_at_named(announcer_.on_stop()); }
  void carry_out(const publish_row& decision);
  void carry_out(const keep_version& decision) { fetch(decision.version); }
  void carry_out(const begin_anew_at& decision);
  void carry_out(const take_checkpoint& decision);
  void carry_out(const finish_at& decision);

  void begin_term();
  /// Ends a run that was stopped with its result, if nothing but the checkpoint of it is missing.
  bool ends_without_checkpoint(const std::string& why);
  /// Takes history, rule and best version from the last checkpoint.
  void recall_checkpoint();
  void fetch(uint64_t version);
  void finish();

  director_context& context_;
  run_history& history_;
  const process_roster& roster_;
  run_watch& watch_;
  run_announcer& announcer_;
  const run_writes& writes_;
  run_tensors& tensors_;
  run_membership& membership_;
  director_rule rule_;
  stored_tensor best_parameters_; ///< the parameters of rule_.kept()
  past_rows past_;
  run_end end_;
  bool has_reported_result_ = false;
};

} // namespace troupe
