#include "models/kinds/metric_kinds.hpp"

#include "models/base/rounding.hpp"
#include "models/metrics/class_metrics.hpp"
#include "models/metrics/prediction_sums.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Metrics of regressions, over all targets of all rows: mae is the mean absolute error, rmse the root of
/// the mean squared one.
class error_metric final : public metric {
public:
  enum class figure : uint8_t { mean_absolute, root_mean_squared };

  explicit error_metric(figure shown) : shown_(shown) {}

  size_t sum_count() const override { return 2; }
  void add(const judged_rows& rows, std::span<double> sums) const override;
  std::optional<double> value(std::span<const double> sums) const override;

private:
  figure shown_;
};

// Errors, and how many.
void error_metric::add(const judged_rows& rows, std::span<double> sums) const {
  const default_rounding rounding;
  const auto found =
    compare(rows.predictions, rows.targets, std::max<size_t>(rows.prediction_count(), 1));
  sums[0] += shown_ == figure::mean_absolute ? found.absolute_error_sum : found.squared_error_sum;
  sums[1] += static_cast<double>(found.count);
}

std::optional<double> error_metric::value(std::span<const double> sums) const {
  if (sums[1] == 0)
    return std::nullopt;
  const double mean = sums[0] / sums[1];
  return shown_ == figure::mean_absolute ? mean : std::sqrt(mean);
}

struct no_options {};

void require(bool holds, const char* what) {
  if (!holds)
    throw std::invalid_argument(what);
}

template <class Metric>
std::unique_ptr<metric> of_probabilities(const no_options&, const metric_input& x) {
  require(x.is_classification(), "it judges classes, and the targets are numbers");
  require(x.has_probabilities(), "it judges probabilities, and the loss gives margins");
  return std::make_unique<Metric>(x.predictions);
}

template <confusion_metric::figure figure>
std::unique_ptr<metric> of_classes(const no_options&, const metric_input& x) {
  require(x.is_classification(), "it judges classes, and the targets are numbers");
  return std::make_unique<confusion_metric>(x.predictions, figure);
}

template <error_metric::figure figure>
std::unique_ptr<metric> of_numbers(const no_options&, const metric_input& x) {
  require(!x.is_classification(), "it judges numbers, and the targets are classes");
  return std::make_unique<error_metric>(figure);
}

void add_own(metric_table& out) {
  const auto add = [&](const char* name, const char* meaning, auto make, bool more_is_better) {
    kind_info info{1, meaning};
    info.more_is_better = more_is_better;
    out.add<no_options>(name, std::move(info), {}, make);
  };
  constexpr bool score = true, error = false;
  add("auc", "area under the ROC curve, the mean over classes", &of_probabilities<auc_metric>,
      score);
  add("average-precision",
      "area under the curve of precision over recall: of the second of two classes, else the mean",
      &of_probabilities<average_precision_metric>, score);
  add("brier", "mean squared distance of probabilities from the truth",
      &of_probabilities<brier_metric>, error);
  add("calibration-error", "how far confidence is from accuracy, over 15 bins",
      &of_probabilities<calibration_metric>, error);
  add("macro-f1", "F1, the mean over classes", &of_classes<confusion_metric::figure::macro_f1>,
      score);
  add("balanced-accuracy", "recall, the mean over classes",
      &of_classes<confusion_metric::figure::balanced_accuracy>, score);
  add("mae", "mean absolute error", &of_numbers<error_metric::figure::mean_absolute>, error);
  add("rmse", "root of the mean squared error",
      &of_numbers<error_metric::figure::root_mean_squared>, error);
}

} // namespace

metric_table& metrics() {
  static metric_table table{"metric", {"loss", "accuracy", "r2"}, &add_own}; // of every job
  return table;
}

} // namespace troupe
