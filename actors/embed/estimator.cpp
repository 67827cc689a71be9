#include "actors/embed/estimator.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/train.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/table/dataset.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"
#include "models/metrics/prediction_sums.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace troupe {

namespace {

static_assert(prediction_chunk_rows == evaluation_chunk_rows,
              "an evaluation after training gives the bits of the one during it");

std::vector<std::string> indices(size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(std::to_string(i));
  return result;
}

/// True if the data set may read the caller's rows in place. False if it would copy them all at
/// once anyway: they change (scaled, split) and a step is of all rows.
bool may_lend(const estimator_options& x, size_t rows) {
  const bool are_as_given = !x.standardize && x.validation_fraction == 0;
  const bool in_batches = scope_of(x.optimizer.kind) != optimizer_scope::solver &&
                          x.training.batch_size != 0 &&
                          x.training.batch_size < rows - share_of(rows, x.validation_fraction);
  return are_as_given || in_batches;
}

dataset rows_of(const matrix_view& features) {
  require_size("feature values", features.rows * features.columns, features.values.size());
  if (features.values.empty())
    throw std::invalid_argument("estimator: there are no rows or no features");
  dataset result;
  result.row_count = features.rows;
  result.feature_count = features.columns;
  result.lent.values = features.values;
  result.feature_names = indices(features.columns);
  return result;
}

job job_of(const estimator_options& options) {
  job result;
  result.name = "estimator";
  result.seed = options.seed;
  result.data.standardize = options.standardize;
  result.data.target_scale = options.target_scale;
  result.data.validation_fraction = options.validation_fraction;
  result.model = options.model;
  result.optimizer = options.optimizer;
  result.training = options.training;
  for (const auto& problem : problems(result))
    if (problem.key != "data.file" && // the rows are in memory
        (problem.key != "model.start_from" || !options.start))
      throw failure(failure_code::bad_job, problem.key + ": " + problem.why, {}, problem.hint);
  return result;
}

} // namespace

estimator::estimator(estimator_options options) : options_(std::move(options)) {}

estimator::estimator(caf::actor_system& system, estimator_options options)
  : options_(std::move(options)), system_(&system) {}

void estimator::fit(const matrix_view& features, std::span<const int32_t> labels) {
  require_size("labels", features.rows, labels.size());
  auto rows = rows_of(features);
  const std::set<int32_t> values{labels.begin(), labels.end()};
  if (values.size() < 2)
    throw failure(failure_code::bad_data, "all labels are the same", {},
                  "give rows of two classes or more");
  const std::vector<int32_t> sorted{values.begin(), values.end()};
  for (auto value : sorted)
    rows.classes.push_back(std::to_string(value));
  for (auto label : labels)
    rows.labels.push_back(
      static_cast<int32_t>(std::ranges::lower_bound(sorted, label) - sorted.begin()));
  rows.target_names = {"label"};
  fit(std::move(rows));
}

void estimator::fit(const matrix_view& features, std::span<const float> targets) {
  const size_t columns =
    features.rows == 0 ? 1 : std::max<size_t>(targets.size() / features.rows, 1);
  fit(features, matrix_view{targets, features.rows, columns});
}

void estimator::fit(const matrix_view& features, const matrix_view& targets) {
  require_size("rows of targets", features.rows, targets.rows);
  require_size("target values", targets.rows * targets.columns, targets.values.size());
  auto rows = rows_of(features);
  rows.targets.assign(targets.values.begin(), targets.values.end());
  rows.target_count = targets.columns;
  for (size_t t = 0; t < targets.columns; ++t)
    rows.target_names.push_back("target " + std::to_string(t));
  fit(std::move(rows));
}

void estimator::fit(dataset rows) {
  auto x = job_of(options_);
  if (system_ || !may_lend(options_, rows.row_count)) {
    const auto lent = std::exchange(rows.lent, {}).values;
    rows.features.insert(rows.features.end(), lent.begin(), lent.end());
  }
  const auto data = prepare_data(x, std::move(rows), options_.start);
  train_options watch;
  watch.on_progress = options_.on_progress;
  watch.stop_requested = options_.stop_requested;
  auto result = system_ ? train(*system_, x, data, watch) : train(x, data, watch);
  if (result.problem)
    throw failure(failure_code::diverged, *result.problem, {}, "lower the learning rate");
  fitted_.emplace(result);
  history_ = std::move(result.history);
}

const fitted_model& estimator::fitted() const {
  if (!fitted_)
    throw std::logic_error("estimator: there is no model yet: call fit or load first");
  return *fitted_;
}

double estimator::score(const matrix_view& features, std::span<const int32_t> labels) const {
  require_size("labels", features.rows, labels.size());
  const auto guesses = predict_labels(features);
  size_t right = 0;
  for (size_t i = 0; i < guesses.size(); ++i)
    right += guesses[i] == labels[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(guesses.size());
}

double estimator::score(const matrix_view& features, std::span<const float> targets) const {
  const auto guesses = predict(features);
  const default_rounding rounding;
  const auto sums = compare(guesses, targets, model().network->output_count());
  return sums.r2().value_or(std::numeric_limits<double>::quiet_NaN());
}

estimator estimator::load(const std::string& path) {
  estimator result;
  result.fitted_ = fitted_model::load(path);
  return result;
}

} // namespace troupe
