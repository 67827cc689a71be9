#include "app/init/held_back_look.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/train.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/text/failure.hpp"
#include "models/base/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

/// Each model sees about so many rows, in some hundredths of a second for ten thousand.
constexpr size_t rows_seen = 400'000;
constexpr size_t epochs_max = 100, epochs_min = 2;
/// Each fold of a small table is kept aside once: one row more or less decides less then.
constexpr size_t folds = 5, rows_for_one_fold = 5'000;
constexpr double worth_a_network = 0.01, worth_a_transform = 0.005;
/// Of few rows more is by chance: this over the root of their number.
constexpr double by_chance = 0.5;

/// The job of this model.
job job_for(const looked_at& x, job linear, size_t rows, bool has_classes) {
  linear.training.epochs = std::clamp(rows_seen / rows, epochs_min, epochs_max);
  linear.training.patience.reset();
  if (!x.is_network)
    return linear;
  linear.model.kind = model_kind::neural_network;
  linear.model.hidden = {32};
  if (has_classes)
    return linear;
  linear.optimizer = {};
  linear.optimizer.kind = optimizer_kind::adam;
  linear.optimizer.learning_rate = 0.003;
  linear.training.batch_size = 32;
  linear.data.target_scale = x.scale;
  return linear;
}

/// The mean over folds; NaN where training failed.
double figure_of(job x, bool has_classes, size_t fold_count) {
  double sum = 0;
  for (size_t fold = 0; fold < fold_count; ++fold)
    try {
      x.data.fold = fold;
      const auto found = train(x, load_data(x));
      const auto& figure =
        has_classes ? found.summary.validation_loss : found.summary.validation_r2;
      sum += found.problem ? std::numeric_limits<double>::quiet_NaN() : figure.value();
    } catch (const failure& problem) {
      if (problem.code() == failure_code::internal)
        throw;
      sum = std::numeric_limits<double>::quiet_NaN();
    }
  return sum / static_cast<double>(fold_count);
}

} // namespace

held_back_look::held_back_look(const job& linear, bool has_classes) : has_classes_(has_classes) {
  auto x = linear;
  x.data.validation_fraction = 0;
  x.data.folds = folds;
  x.data.fold = 0;
  x.training.metrics.clear();
  const auto shape = shape_of(*load_data(x));
  const auto rows = shape.train_row_count;
  least_gain_ = by_chance / std::sqrt(static_cast<double>(rows));
  using enum target_scale_kind;
  models_ = {{}, {true, has_classes ? none : standardize, 0}};
  if (!has_classes)
    models_.push_back({true,
                       shape.target_minimum > 0    ? log
                       : shape.target_minimum == 0 ? log1p
                                                   : asinh,
                       0});
  for (auto& one : models_)
    one.figure = figure_of(job_for(one, x, rows, has_classes), has_classes,
                           rows < rows_for_one_fold ? folds : 1);
}

double held_back_look::gain(const looked_at& x, const looked_at& over) const {
  if (std::isnan(x.figure))
    return -1;
  if (std::isnan(over.figure))
    return 1;
  return has_classes_ ? 1 - x.figure / over.figure : x.figure - over.figure;
}

const looked_at& held_back_look::best() const {
  const auto& plain = models_[1];
  const auto& other = models_.back();
  const auto& network =
    gain(other, plain) > std::max(worth_a_transform, least_gain_) ? other : plain;
  return gain(network, models_.front()) > std::max(worth_a_network, least_gain_) ? network
                                                                                 : models_.front();
}

std::string held_back_look::words() const {
  std::string result = has_classes_ ? "Loss" : "R2";
  result += " of a short look, on rows that were kept aside";
  for (const auto& x : models_) {
    result += &x == &models_.front() ? ": line" : "; network";
    if (x.scale != target_scale_kind::none && x.scale != target_scale_kind::standardize)
      result += ", " + std::string{name_of(x.scale)};
    result += std::isnan(x.figure) ? " failed" : fmt::format(" {:.4f}", x.figure);
  }
  return result;
}

} // namespace troupe
