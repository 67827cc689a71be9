// Main model: the versions of a model that one parameter server owns, as director and node see them. It
// keeps the parameters of the newest version and of the one before, and the figures of the epoch. It says
// when a version is to be evaluated, and what is to be reported.
//
//   begin --adopt--> version v' > v --adopt--> ..
//                \--fail--> its version stays
//
// Versions may be several steps apart; each with a row of the history must be among them.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/modes/span_model.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/base/batch.hpp"
#include "models/base/buffer.hpp"

#include <cstdint>
#include <optional>

namespace troupe {

struct main_model_options {
  timeline plan;
  evaluation_rows rows;
  milliseconds report_interval{100}; ///< at least, between two reports of nothing but progress
};

class main_model {
public:
  /// What a report is about. With neither it is for progress only.
  struct report_mark {
    bool is_row = false;  ///< the history has a row of this version
    bool is_mark = false; ///< it is the horizon
  };

  explicit main_model(const main_model_options& options) : options_(options) {}

  /// `sums`: of the steps since the last end of an epoch.
  void begin(uint64_t version, const numbered_model& model, moment now,
             const batch_sums& sums = {});
  /// How far training goes; this ends a hold.
  void set_horizon(const horizon_rule& horizon);
  /// No step begins until the next horizon.
  void hold() { holds_ = true; }
  /// The steps up to `version` are done: their figures, and the parameters they led to.
  void adopt(uint64_t version, const numbered_model& model, const batch_sums& sums);
  /// What came of the current version's step is not finite.
  void fail() { failed_ = true; }

  bool has_begun() const { return static_cast<bool>(current_.values); }
  bool has_failed() const { return failed_; }
  uint64_t version() const { return version_; }
  const const_buffer& parameters() const { return current_.values; }
  const numbered_model& current() const { return current_; }
  /// Of the current version or the one before; null for any other.
  const_buffer parameters_of(uint64_t version) const;
  const batch_sums& epoch_sums() const { return epoch_sums_; }
  /// The figures of the epoch with those of the current version's step.
  batch_sums sums_with(const batch_sums& step) const {
    return options_.plan.is_epoch_end(version_) ? step : epoch_sums_ + step;
  }
  double seconds(moment now) const;
  /// Steps below it may begin.
  uint64_t step_limit() const { return has_begun() && !failed_ && !holds_ ? horizon_.version : 0; }
  const horizon_rule& horizon() const { return horizon_; }
  bool is_at_horizon() const { return has_begun() && !failed_ && version_ == horizon_.version; }

  /// True once for each version that is to be evaluated.
  bool take_evaluation();
  /// What is to be reported now; each row and each mark once.
  std::optional<report_mark> take_report(moment now);
  /// Something else was reported.
  void on_reported(moment now) { last_report_ = now; }

private:
  main_model_options options_;
  horizon_rule horizon_;
  bool holds_ = false;
  bool failed_ = false;
  uint64_t version_ = 0;
  uint64_t previous_version_ = 0;
  numbered_model current_; ///< no values: it has not begun
  const_buffer previous_;
  batch_sums epoch_sums_;             ///< of the epoch of the last step
  uint64_t row_version_ = 0;          ///< reported as a row
  uint64_t mark_version_ = 0;         ///< reported as the horizon
  std::optional<uint64_t> evaluated_; ///< the last version that was
  moment begin_{};
  moment last_report_{};
};

} // namespace troupe
