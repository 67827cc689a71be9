#include "actors/director/run_history.hpp"

#include "data/records/history_figures.hpp"
#include "models/training/schedule.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Nothing without samples: no row was trained on, or a private run hides the figures.
std::optional<double> mean_loss(const batch_sums& sums) {
  if (sums.sample_count == 0)
    return std::nullopt;
  return sums.loss_sum / static_cast<double>(sums.sample_count);
}

std::optional<double> share_correct(const batch_sums& sums) {
  if (sums.sample_count == 0)
    return std::nullopt;
  return static_cast<double>(sums.correct_count) / static_cast<double>(sums.sample_count);
}

/// The figures of test or validation rows; nothing if they were not evaluated. `total_squares`: of
/// a regression's targets around their mean.
struct evaluated_part {
  std::optional<double> loss, accuracy, r2;

  evaluated_part(const std::optional<batch_sums>& sums, bool classification, double total_squares) {
    if (!sums)
      return;
    loss = mean_loss(*sums);
    if (classification)
      accuracy = share_correct(*sums);
    if (total_squares > 0)
      r2 = 1 - sums->squared_error_sum / total_squares;
  }
};

} // namespace

run_history::run_history(const director_options& options)
  : plan_(options.rule.plan),
    optimizer_(options.optimizer),
    keep_best_(options.rule.keep_best),
    classification_(options.classification),
    test_total_squares_(options.test_total_squares),
    validation_total_squares_(options.validation_total_squares),
    metrics_(options.metrics, options.rule.rows),
    hashes_(options.rule.hashed_blocks) {}

void run_history::begin(uint64_t version) {
  rows_.clear();
  seconds_before_ = row_seconds_ = 0;
  report_seconds_.clear();
  rounds_.clear();
  reductions_.clear();
  metrics_.forget();
  hashes_.forget();
  version_ = version;
}

void run_history::recall(const checkpoint& x) {
  auto before = x; // a few references and the rows
  keep_rows_of_undisturbed_run(before);
  rows_ = std::move(before.history);
  seconds_before_ = row_seconds_ = x.seconds;
}

// The time of a version between the last row and the newest report is as if all steps took the same time.
void run_history::return_to(uint64_t version) {
  auto rows = rows_;
  std::erase_if(rows, [=](const history_row& row) { return row.steps > version; });
  const auto from = rows.empty() ? 0 : rows.back().steps;
  auto seconds = rows.empty() ? 0 : rows.back().seconds;
  const auto row_seconds = seconds;
  if (version_ > from)
    seconds += (seconds_at(version_, seconds_before_) - seconds) *
               static_cast<double>(version - from) /
               static_cast<double>(std::max(version_, version) - from);
  begin(version);
  rows_ = std::move(rows);
  seconds_before_ = seconds;
  row_seconds_ = row_seconds;
}

bool run_history::on_report(const training_report& news, moment now) {
  const bool is_new = news.version > version_;
  if (is_new) {
    version_ = news.version;
    pace_.on_version(version_, now);
  }
  for (const auto& round : news.rounds)
    if (rows_.empty() || round.round > rows_.back().steps)
      rounds_[round.round] = round;
  report_seconds_.add(news.version, seconds_before_ + news.seconds, news.is_row || news.is_mark);
  return is_new;
}

bool run_history::on_evaluation(const evaluation& news) {
  if (!metrics_.takes(news.first_chunk, news.chunks.size(), news.metrics))
    return false;
  metrics_.add(news.version, news.first_chunk, news.metrics);
  return true;
}

bool run_history::on_hash(const span_hash& news) {
  return hashes_.add(news.version, news.blocks, news.hash) && hashes_.hash_of(news.version);
}

training_progress run_history::add_row(const epoch_figures& figures, double since_begin) {
  auto row = row_of(figures, since_begin);
  if (!rows_.empty() && rows_.back().steps == row.steps) {
    if (figures.train.sample_count == 0) {
      row.train_loss = rows_.back().train_loss;
      row.train_accuracy = rows_.back().train_accuracy;
    }
    rows_.pop_back();
  }
  rows_.push_back(row);
  auto result = progress_at(figures.version, figures.train, since_begin);
  result.finished_epoch = row;
  while (!rounds_.empty() && rounds_.begin()->first <= row.steps)
    result.rounds.push_back(rounds_.extract(rounds_.begin()).mapped());
  row_seconds_ = row.seconds;
  report_seconds_.forget_below(row.steps);
  metrics_.forget_below(row.steps); // this one may have another row
  hashes_.forget_below(row.steps);
  return result;
}

void run_history::cut_after(uint64_t version) {
  std::erase_if(rows_, [=](const history_row& row) { return row.steps > version; });
}

void run_history::keep_rows_of_undisturbed_run(checkpoint& x) const {
  if (x.history.empty())
    return;
  auto& row = x.history.back();
  if (keep_best_ && x.best_parameters && row.steps == x.best_version)
    return;
  if (!plan_.is_row(row.steps))
    return x.history.pop_back();
  if (plan_.evaluates(row.steps))
    return;
  for (const auto& figure : evaluated_figures(row))
    figure.set(row, std::nullopt);
}

double run_history::seconds_at(uint64_t version, double since_begin) const {
  return report_seconds_.of(version).value_or(since_begin);
}

std::optional<double> run_history::rate_at(uint64_t step) const {
  const auto base = with_defaults(optimizer_).learning_rate;
  if (!base)
    return std::nullopt;
  return *base * schedule_factor(optimizer_.schedule, step) *
         plateau_factor(optimizer_.plateau, reductions_, step);
}

history_row run_history::row_of(const epoch_figures& figures, double since_begin) const {
  const auto last_step = figures.version - 1;
  history_row row;
  row.epoch = plan_.epoch_of(last_step) + 1;
  row.steps = figures.version;
  row.seconds = seconds_at(figures.version, since_begin);
  row.learning_rate = rate_at(last_step).value_or(0);
  row.train_loss = mean_loss(figures.train);
  if (classification_)
    row.train_accuracy = share_correct(figures.train);
  const evaluated_part test{figures.test, classification_, test_total_squares_};
  row.test_loss = test.loss;
  row.test_accuracy = test.accuracy;
  row.test_r2 = test.r2;
  const evaluated_part validation{figures.validation, classification_, validation_total_squares_};
  row.validation_loss = validation.loss;
  row.validation_accuracy = validation.accuracy;
  row.validation_r2 = validation.r2;
  row.metrics = metrics_.figures_of(figures.version);
  row.hash = hashes_.hash_of(figures.version);
  return row;
}

training_progress run_history::progress_at(uint64_t version, const batch_sums& sums,
                                           double since_begin) const {
  training_progress progress;
  const auto last_step = version > 0 ? version - 1 : 0;
  progress.epoch = plan_.epoch_of(last_step) + 1;
  progress.epochs = plan_.epoch_of(plan_.last_version() - 1) + 1;
  progress.steps_in_epoch = plan_.steps_in_epoch();
  progress.step = version - (progress.epoch - 1) * progress.steps_in_epoch;
  progress.version = version;
  progress.seconds = seconds_at(version, since_begin);
  // The time of the epoch so far, as if all steps since the last row took the same time.
  const auto steps = version - plan_.last_row(last_step);
  progress.seconds_of_epoch = (progress.seconds - row_seconds_) *
                              static_cast<double>(progress.step) /
                              static_cast<double>(std::max<uint64_t>(steps, 1));
  progress.train_loss = mean_loss(sums);
  if (classification_)
    progress.train_accuracy = share_correct(sums);
  return progress;
}

} // namespace troupe
