// The director rule: how one training run goes on, as a state machine.
//
//   keeping   (the best version so far is being fetched) ----+
//      ^  |                                                  |
//      |  | it is kept, and training goes on                 | it is kept, and was the last
//      |  v     the row of the last version is complete      v
//   training --------------------------------------------> ending
//      |  ^                                                  ^
//      |  | the version to stop at is named                  |
//      v  |                                                  |
//   holding   (replicas say where they stand)                |
//      |          something is not finite                    |
//      +-----------------------------------------------------+   (from training and keeping too)
//
// Events come in with their time; decisions go out as a list, for the caller to carry out in order. A row of the
// history is complete with the training sums of its epoch, the hash of its version and, if that is evaluated, all
// chunks of the evaluation; rows complete in order of version. While a stop rule or the choice of the best version
// reads results, replicas may run up to the next evaluated version only, until its row lets them go on. The loss
// that is watched is that of the validation rows, else of the test rows, else the training loss. In its place there
// may be another figure of a row (`watched_figure`), which is called a loss here as well: less is better.
//
// The result is a *version*; steps beyond it do not count. It is the last one or, with `keep_best`,
// the one with the least watched loss among those the timeline evaluates: the first of equals,
// whatever the stop rule's tolerance. Shards hold two versions only, so the director fetches the
// best one while all replicas wait at it. A version that was not fetched was never best.
//
// The rule remembers what a run without end would: stop rule and kept version know scheduled evaluations
// alone, which a run of any length makes. A version that is evaluated only because it is the last one may
// be the result. But no rule reads it, and a run that goes on from there has not seen it.

#pragma once

#include "coordinators/job/stop_rule.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/base/batch.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// What a director needs to know of its job.
struct director_rule_options {
  timeline plan;
  stop_rule_options stop;
  evaluation_rows rows{}; ///< none: nothing is evaluated
  bool keep_best = false;
  /// No replica passes an evaluated version before its row is complete. In a cluster: a lost
  /// replica takes its chunks with it, and others can evaluate a version only while they are at it.
  bool waits_for_rows = false;
  uint64_t checkpoint_every = 0; ///< steps between checkpoints (checkpoint_rule.hpp); 0: none
  size_t hashed_blocks = 0;      ///< of which shards report a hash for every row; 0: none
  plateau_options plateau{};     ///< lowers the rate; what it decided travels with the horizon
  std::string watch = "loss";    ///< what results are read by: a figure of rows (job.hpp)

  friend bool operator==(const director_rule_options&, const director_rule_options&) = default;
};

/// One row: the figures of the steps since the row before. A second row of the same version
/// replaces the first (an interrupt made that version the last one, so it was evaluated after all).
struct epoch_figures {
  uint64_t version = 0;
  batch_sums train;               ///< over the samples of the row's steps
  std::optional<batch_sums> test; ///< when the version was evaluated and there are test rows
  std::optional<batch_sums> validation{}; ///< likewise

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
/// Fetch the parameters of `version` and keep them beside whatever comes; drop those kept before
/// once the new ones are there. Answered by `on_kept`; no replica goes on before.
struct keep_version {
  uint64_t version = 0;
  friend bool operator==(const keep_version&, const keep_version&) = default;
};
/// All stand at `version`, as was asked for, and its rows are complete: a term may begin there.
struct begin_anew_at {
  uint64_t version = 0;
  friend bool operator==(const begin_anew_at&, const begin_anew_at&) = default;
};
/// Write down the state at `version`: this rule's memory and the shards' copies. All rows up to it
/// are complete and none beyond it is.
struct take_checkpoint {
  uint64_t version = 0;
  friend bool operator==(const take_checkpoint&, const take_checkpoint&) = default;
};
/// End with the parameters of `version`: the kept ones if that version was kept, else fetch them.
/// `reason` says why. A second one replaces the first: a shard could not reach the version training
/// was to end at.
struct finish_at {
  uint64_t version = 0;
  stop_reason reason = stop_reason::none;
  friend bool operator==(const finish_at&, const finish_at&) = default;
};

using director_decision = std::variant<allow_up_to, hold_replicas, publish_row, keep_version,
                                       begin_anew_at, take_checkpoint, finish_at>;
using director_decisions = std::vector<director_decision>;

/// A version whose parameters are kept, and its watched loss.
struct best_version {
  uint64_t version = 0;
  double loss = 0; ///< mean over samples
  friend bool operator==(const best_version&, const best_version&) = default;
};

/// What a rule remembers of the rows up to a version: enough to go on from there as a run that
/// never stopped, whatever its length. Stop rules of now judge what those of then saw; versions
/// that were not kept cannot become the best any more, and kept ones are forgotten without
/// `keep_best`.
struct director_memory {
  uint64_t version = 0;
  std::optional<epoch_figures> last_row;
  stop_rule stop{{}};
  std::optional<best_version> best;
  /// The watched loss of this version; nothing when it was not evaluated.
  std::optional<double> last_loss;
  plateau_rule plateau{};
  bool is_saved = true; ///< there is a checkpoint of this version

  friend bool operator==(const director_memory&, const director_memory&) = default;
};

/// What is watched of a row in place of its loss: less is better, and NaN is no improvement.
using watched_figure = std::function<double(const epoch_figures& row)>;

class director_rule {
public:
  explicit director_rule(const director_rule_options& options, watched_figure watched = {});
  /// Goes on from a version that was reached before.
  director_rule(const director_rule_options& options, const director_memory& memory,
                watched_figure watched = {});

  /// Training begins.
  director_decisions start();
  /// Sums of the steps since the last such report, up to `version`: an epoch's end or the horizon.
  /// A version that was reported before is ignored.
  director_decisions on_trained(uint64_t version, const batch_sums& sums);
  /// Chunks [first, first + sums.size()) of the evaluation of `version`.
  director_decisions on_evaluated(uint64_t version, size_t first_chunk,
                                  const std::vector<batch_sums>& sums);
  /// The hash of `version` is known, of all blocks.
  director_decisions on_hashed(uint64_t version);
  /// Every shard has reached this version, the horizon.
  director_decisions on_marked(uint64_t version);
  /// All hold: training is to end at this version (coordinators/run/hold_rule.hpp), or to stand there for a cut. Later
  /// ones count. Or the parameter server will not go beyond it, for another reason.
  director_decisions on_stop_named(uint64_t version, stop_reason reason = stop_reason::interrupt);
  /// The parameters of `version` are kept. Ignored unless it is the one that was asked for last.
  director_decisions on_kept(uint64_t version);
  director_decisions on_not_finite(const divergence& what);
  /// A stop was asked for; the sooner the better. Before `start`, training ends as it begins.
  director_decisions on_stop_requested();
  /// A term is to begin with nothing undone. Asked again: nothing; if this is no time for it, it has to be asked again.
  director_decisions on_cut_requested();

  enum class phase : uint8_t { training, holding, keeping, ending };
  phase state() const { return phase_; }
  const std::optional<divergence>& diverged() const { return diverged_; }
  const stop_rule& rule() const { return rules_.stop; }
  /// The best version so far: the kept one, or the last one once training ends there.
  const std::optional<best_version>& best() const { return last_is_best_ ? last_is_best_ : best_; }
  /// The version whose parameters are kept; nothing before the first is.
  const std::optional<best_version>& kept() const { return best_; }
  /// What to keep of this rule when it decides to `take_checkpoint` at this version.
  director_memory memory(uint64_t version) const;
  /// The newest version that has its row, or the one it started from.
  uint64_t row_version() const;
  /// The version training ended at, once ending; the result may be an earlier one.
  uint64_t end_version() const { return end_version_; }

private:
  bool reads_results() const {
    return options_.keep_best || options_.stop.reads_results() || rules_.rate.reads_results();
  }
  horizon_rule horizon_after(uint64_t version) const;
  /// Turns complete pending rows into decisions, oldest first.
  void complete_rows(director_decisions& out);
  /// Fills in the evaluation of the row's version; false while chunks are on their way.
  bool evaluate(epoch_figures& row) const;
  bool needs_evaluation(uint64_t version) const;
  bool is_end(uint64_t version) const;
  /// Ends when the version named by an interrupt had its row before it was named.
  void end_at_last_row(director_decisions& out);
  void on_row(const epoch_figures& row, director_decisions& out);
  /// Reads the result of a row: the verdict on it, and whether it is the best so far.
  void judge(const epoch_figures& row);
  bool is_better(double loss) const;
  /// What follows a row once nothing has to be kept any more.
  void go_on_after(uint64_t version, director_decisions& out);
  void finish(uint64_t version, stop_reason reason, director_decisions& out);

  director_rule_options options_;
  /// What reads results.
  struct {
    stop_rule stop;
    plateau_rule rate;
    watched_figure watched; ///< none: the loss
  } rules_;
  phase phase_ = phase::training;
  horizon_rule horizon_;
  bool interrupted_ = false;
  std::optional<stop_reason>
    named_{}; ///< why training is to stop at a version: replicas do not hold a second time
  /// For a term that is to begin replicas hold, then all stand at a version, then it is ordered.
  enum class cut_state : uint8_t { none, holding, standing, ordered };
  cut_state cut_ = cut_state::none;
  struct beginning {
    uint64_t version = 0;
    bool is_saved = true; ///< there is a checkpoint of it
    friend bool operator==(const beginning&, const beginning&) = default;
  };
  beginning start_;
  uint64_t marked_version_ = 0;            ///< the newest horizon that was reached
  std::map<uint64_t, batch_sums> trained_; ///< reported, their rows not complete yet
  std::map<uint64_t, std::map<size_t, batch_sums>> evaluated_; ///< chunks by version
  std::set<uint64_t> hashed_;                                  ///< their rows not complete yet
  std::optional<epoch_figures> last_row_;
  stop_reason verdict_ = stop_reason::none;  ///< of the stop rule on the last row
  std::optional<best_version> best_;         ///< kept
  std::optional<best_version> last_is_best_; ///< better than best_, and evaluated as the last alone
  std::optional<double> last_loss_;          ///< of the last row, if it was evaluated
  std::optional<best_version> candidate_;    ///< better than best_, being kept
  uint64_t end_version_ = 0;
  std::optional<divergence> diverged_;
};

} // namespace troupe
