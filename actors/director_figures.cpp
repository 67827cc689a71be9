// The figures a director gives out: rows, progress, status.

#include "troupe/actors/director.hpp"

#include "troupe/models/schedule.hpp"

namespace troupe {

namespace {

double mean_loss(const batch_sums& sums) {
  return sums.loss_sum / static_cast<double>(sums.sample_count);
}

double accuracy(const batch_sums& sums) {
  return static_cast<double>(sums.correct_count) / static_cast<double>(sums.sample_count);
}

} // namespace

double director_state::seconds_since_begin() const {
  return begin_ ? std::chrono::duration<double>(clock::now() - *begin_).count() : 0;
}

double director_state::seconds_at(uint64_t version) const {
  const auto found = report_seconds_.find(version);
  return found == report_seconds_.end() ? seconds_since_begin() : found->second;
}

history_row director_state::row_of(const epoch_figures& figures) const {
  const auto& plan = options_.rule.plan;
  const auto last_step = figures.version - 1;
  history_row row;
  row.epoch = plan.epoch_of(last_step) + 1;
  row.steps = figures.version;
  row.seconds = seconds_at(figures.version);
  row.learning_rate = with_defaults(options_.optimizer).learning_rate.value_or(0) *
                      schedule_factor(options_.optimizer.schedule, last_step);
  row.train_loss = mean_loss(figures.train);
  if (options_.classification)
    row.train_accuracy = accuracy(figures.train);
  if (!figures.test)
    return row;
  row.test_loss = mean_loss(*figures.test);
  if (options_.classification)
    row.test_accuracy = accuracy(*figures.test);
  else if (options_.test_total_squares > 0)
    row.test_r2 = 1 - figures.test->squared_error_sum / options_.test_total_squares;
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
  progress.seconds_of_epoch = progress.seconds - row_seconds_;
  progress.train_loss = mean_loss(sums);
  if (options_.classification)
    progress.train_accuracy = accuracy(sums);
  return progress;
}

training_status director_state::on_status() const {
  training_status status;
  status.phase = result_.failed                                     ? "failed"
                 : finished_                                        ? "finished"
                 : !begin_                                          ? "waiting"
                 : rule_->state() == director_rule::phase::training ? "training"
                                                                    : "stopping";
  status.version = version_;
  status.last_version = options_.rule.plan.last_version();
  status.epoch = version_ / options_.rule.plan.steps_in_epoch();
  status.seconds = finished_ ? result_.seconds : seconds_since_begin();
  status.replicas = view_.replicas.size();
  status.shards = view_.shards.size();
  status.waits_for = waits_for();
  return status;
}

std::string director_state::waits_for() const {
  if (finished_)
    return {};
  if (!begin_)
    return "begin";
  switch (rule_->state()) {
  case director_rule::phase::training:
    return "the next row of the history";
  case director_rule::phase::holding:
    return "replicas to finish their step";
  case director_rule::phase::ending:
    return std::to_string(missing_answers_) + " answers at the end of training";
  }
  return {};
}

} // namespace troupe
