// The figures a director gives out: rows, progress, status.

#include "troupe/actors/director/director.hpp"

#include "troupe/models/training/schedule.hpp"

namespace troupe {

namespace {

double mean_loss(const batch_sums& sums) {
  return sums.loss_sum / static_cast<double>(sums.sample_count);
}

double share_correct(const batch_sums& sums) {
  return static_cast<double>(sums.correct_count) / static_cast<double>(sums.sample_count);
}

/// The figures of the test or the validation rows; nothing for what was not evaluated.
struct evaluated_part {
  std::optional<batch_sums> sums;
  bool classification;
  double total_squares; ///< regression: of the targets around their mean

  std::optional<double> loss() const {
    return sums ? std::optional{mean_loss(*sums)} : std::nullopt;
  }
  std::optional<double> accuracy() const {
    return sums && classification ? std::optional{share_correct(*sums)} : std::nullopt;
  }
  std::optional<double> r2() const {
    return sums && total_squares > 0 ? std::optional{1 - sums->squared_error_sum / total_squares}
                                     : std::nullopt;
  }
};

} // namespace

double director_state::seconds_since_begin() const {
  return begin_ ? std::chrono::duration<double>(self_->clock().now() - *begin_).count() : 0;
}

double director_state::seconds_at(uint64_t version) const {
  return report_seconds_.of(version).value_or(seconds_since_begin());
}

std::optional<double> director_state::rate_at(uint64_t step) const {
  const auto base = with_defaults(options_.optimizer).learning_rate;
  return base ? std::optional{*base * schedule_factor(options_.optimizer.schedule, step)}
              : std::nullopt;
}

history_row director_state::row_of(const epoch_figures& figures) const {
  const auto& plan = options_.rule.plan;
  const auto last_step = figures.version - 1;
  history_row row;
  row.epoch = plan.epoch_of(last_step) + 1;
  row.steps = figures.version;
  row.seconds = seconds_at(figures.version);
  row.learning_rate = rate_at(last_step).value_or(0);
  row.train_loss = mean_loss(figures.train);
  if (options_.classification)
    row.train_accuracy = share_correct(figures.train);
  const evaluated_part test{figures.test, options_.classification, options_.test_total_squares};
  row.test_loss = test.loss();
  row.test_accuracy = test.accuracy();
  row.test_r2 = test.r2();
  const evaluated_part validation{figures.validation, options_.classification,
                                  options_.validation_total_squares};
  row.validation_loss = validation.loss();
  row.validation_accuracy = validation.accuracy();
  row.validation_r2 = validation.r2();
  return row;
}

training_progress director_state::progress_at(uint64_t version, const batch_sums& sums) const {
  const auto& plan = options_.rule.plan;
  training_progress progress;
  const auto last_step = version > 0 ? version - 1 : 0;
  progress.epoch = plan.epoch_of(last_step) + 1;
  progress.epochs = plan.epoch_of(plan.last_version() - 1) + 1;
  progress.steps_in_epoch = plan.steps_in_epoch();
  progress.step = version - (progress.epoch - 1) * progress.steps_in_epoch;
  progress.version = version;
  progress.seconds = seconds_at(version);
  // Since the last row, as if all its steps took the same time.
  const auto steps = version - plan.last_row(last_step);
  progress.seconds_of_epoch = (progress.seconds - row_seconds_) *
                              static_cast<double>(progress.step) /
                              static_cast<double>(std::max<uint64_t>(steps, 1));
  progress.train_loss = mean_loss(sums);
  if (options_.classification)
    progress.train_accuracy = share_correct(sums);
  return progress;
}

std::vector<replica_status> director_state::work_of_replicas() const {
  std::vector<replica_status> result;
  for (const auto& place : view_.replicas) {
    const auto found = reports_.find(view_.members[place.member].name);
    const bool known = found != reports_.end() && place.index < found->second.news.replicas.size();
    result.push_back(known ? found->second.news.replicas[place.index] : replica_status{});
  }
  return result;
}

// One process has them: that of the shard that keeps the book.
trainer_figures director_state::figures() const {
  for (const auto& [who, last] : reports_)
    if (!last.news.figures.replicas.empty())
      return last.news.figures;
  return {};
}

void director_state::fill_in_figures() {
  result_.replicas = work_of_replicas();
  result_.figures = figures();
  result_.nodes = took_part_.size();
  result_.replicas_here = view_.replicas.size();
  for (const auto& [who, last] : reports_) {
    result_.bytes_sent += last.news.bytes_sent;
    result_.bytes_early += last.news.bytes_early;
    result_.resends += last.news.resends;
  }
}

} // namespace troupe
