// Run history: a run's version, its speed, and its rows. A plain object: reports and complete rows go in, rows and
// progress come out.
//
//   begin --> on_report, add_row, ... --> cut_after the end
//     |
//     +--> recall: as it was at a checkpoint
//     +--> return_to: as it was at an earlier version of this life
//
// `since_begin`: seconds since this director began. A version's time comes from its shard's report and counts all lives
// of the run. A version without a report gets the current time.

#pragma once

#include "actors/director/director_context.hpp"
#include "actors/protocol/messages.hpp"
#include "coordinators/run/version_reports.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe {

class run_history {
public:
  explicit run_history(const director_options& options);

  /// A term begins at this version; it has no rows.
  void begin(uint64_t version);
  /// Takes rows and time from a checkpoint, as an undisturbed run has them there.
  void recall(const checkpoint& x);

  /// A term begins at a version that was reached before: later rows are undone.
  void return_to(uint64_t version);

  /// True if this version is new.
  bool on_report(const training_report& news, moment now);
  /// False if the evaluation does not fit this job: ignore it.
  bool on_evaluation(const evaluation& news);
  /// True when it completes the hash of its version.
  bool on_hash(const span_hash& news);
  /// Adds a complete row. A run that resumed at a version has no training figures for it: then the row adds its
  /// evaluation to the version's first row.
  training_progress add_row(const epoch_figures& figures, double since_begin);
  /// Steps from which the learning rate is lower once more.
  void set_reductions(const std::vector<uint64_t>& steps) { reductions_ = steps; }
  const std::vector<uint64_t>& reductions() const { return reductions_; }
  /// Training ended here: drops later rows. The shard that keeps the metrics may have been ahead of one that met a bad
  /// value.
  void cut_after(uint64_t version);
  /// Removes what an undisturbed run does not have: an interrupt, or the end of a run that is later extended, adds or
  /// evaluates a last row. The best version keeps its row.
  void keep_rows_of_undisturbed_run(checkpoint& x) const;

  const std::vector<history_row>& rows() const { return rows_; }
  /// A row of these figures.
  history_row row_of(const epoch_figures& figures, double since_begin) const;
  training_progress progress_at(uint64_t version, const batch_sums& sums, double since_begin) const;
  double seconds_at(uint64_t version, double since_begin) const;
  /// Nothing when the rule has none.
  std::optional<double> rate_at(uint64_t step) const;
  /// The newest reported version.
  uint64_t version() const { return version_; }
  double steps_per_second(moment now) const { return pace_.steps_per_second(now); }

  friend bool operator==(const run_history&, const run_history&) = default;

private:
  timeline plan_;
  optimizer_options optimizer_;
  bool keep_best_;
  bool classification_;
  double test_total_squares_;
  double validation_total_squares_;

  std::vector<history_row> rows_;
  double row_seconds_ = 0;       ///< when the last row ended
  double seconds_before_ = 0;    ///< trained up to the term's start version
  version_times report_seconds_; ///< of reported versions, over all lives of the run
  uint64_t version_ = 0;
  pace pace_;
  std::vector<uint64_t> reductions_;
  version_metrics metrics_;
  version_hashes hashes_;
  std::map<uint64_t, round_record> rounds_; ///< of federated training, without a row yet
};

} // namespace troupe
