#include "models/metrics/class_metrics.hpp"

#include "models/base/rounding.hpp"
#include "models/metrics/prediction_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// What sums of probabilities are counted in.
constexpr double steps = 0x1p32;

size_t checked_class_count(size_t count) {
  if (count < 2)
    throw std::invalid_argument("there are no two classes");
  return count;
}

void require_fit(const judged_rows& rows, size_t class_count, std::span<double> sums,
                 size_t sum_count) {
  if (rows.predictions.size() != rows.row_count * class_count ||
      rows.labels.size() != rows.row_count || sums.size() != sum_count)
    throw std::invalid_argument("metric: " + std::to_string(rows.predictions.size()) +
                                " predictions and " + std::to_string(rows.labels.size()) +
                                " labels for " + std::to_string(rows.row_count) + " rows of " +
                                std::to_string(class_count) + " classes");
}

size_t label_of(const judged_rows& rows, size_t i, size_t class_count) {
  const auto label = rows.labels[i];
  if (label < 0 || static_cast<size_t>(label) >= class_count)
    throw std::invalid_argument("metric: there is no class " + std::to_string(label));
  return static_cast<size_t>(label);
}

size_t likeliest_of(std::span<const float> row) {
  return static_cast<size_t>(std::ranges::max_element(row) - row.begin());
}

/// `use(row, label)` of each row of probabilities.
void for_each_row(const judged_rows& rows, size_t class_count, auto use) {
  const default_rounding rounding;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto label = label_of(rows, i, class_count);
    const auto row = rows.row(i);
    if (std::ranges::all_of(row, [](float p) { return p >= 0 && p <= 1; }))
      use(row, label);
  }
}

double in_steps(double x) {
  return std::nearbyint(x * steps);
}

constexpr size_t steps_per_halving = 32;
constexpr size_t half = steps_per_halving * 32; ///< bins below 1/2, and above it

// The leading bits of a float count halvings, and steps within one. 1 - p is exact above 1/2.
size_t bin_of(float p) {
  const auto below_half = [](float x) -> size_t {
    constexpr uint32_t fraction_bits = 23, step_bits = std::bit_width(steps_per_halving - 1);
    constexpr auto lowest =
      std::bit_cast<uint32_t>(0x1p-33f); // 2^-33 to 2^-32 is the first halving
    const auto bits = std::max(std::bit_cast<uint32_t>(x), lowest) - lowest;
    return std::min<size_t>(bits >> (fraction_bits - step_bits), half - 1);
  };
  return p < 0.5f ? below_half(p) : 2 * half - 1 - below_half(1 - p);
}

} // namespace

auc_metric::auc_metric(size_t class_count) : class_count_(checked_class_count(class_count)) {
  static_assert(bin_count == 2 * half);
}

// Of each class and bin, ascending with p: rows of the class, and all rows.
void auc_metric::add(const judged_rows& rows, std::span<double> sums) const {
  require_fit(rows, class_count_, sums, sum_count());
  for_each_row(rows, class_count_, [&](std::span<const float> row, size_t label) {
    for (size_t c = 0; c < class_count_; ++c) {
      const auto count = sums.subspan(2 * (c * bin_count + bin_of(row[c])), 2);
      count[0] += c == label ? 1 : 0;
      count[1] += 1;
    }
  });
}

// Whole numbers below 2^53 are exact, and beyond that the order of bins is always the same.
std::optional<auc_figure> auc_metric::of_class(std::span<const double> sums, size_t label) const {
  const auto counts = sums.subspan(2 * label * bin_count, 2 * bin_count);
  double own = 0, others = 0, right = 0, tied = 0;
  for (size_t i = 0; i < counts.size(); i += 2) {
    const double rest = counts[i + 1] - counts[i];
    right += counts[i] * others;
    tied += counts[i] * rest;
    own += counts[i];
    others += rest;
  }
  if (own == 0 || others == 0)
    return std::nullopt;
  return auc_figure{(right + tied / 2) / (own * others), tied / 2 / (own * others)};
}

std::optional<auc_figure> auc_metric::macro(std::span<const double> sums) const {
  if (class_count_ == 2) // the same figure, to rounding of 1 - p
    return of_class(sums, 1);
  auc_figure sum;
  size_t count = 0;
  for (size_t c = 0; c < class_count_; ++c)
    if (const auto one = of_class(sums, c)) {
      sum.value += one->value;
      sum.error_max += one->error_max;
      ++count;
    }
  if (count == 0)
    return std::nullopt;
  return auc_figure{sum.value / static_cast<double>(count),
                    sum.error_max / static_cast<double>(count)};
}

std::optional<double> auc_metric::value(std::span<const double> sums) const {
  const auto whole = macro(sums);
  return whole ? std::optional{whole->value} : std::nullopt;
}

std::optional<double>
auc_metric::mean_over_classes(std::span<const double> sums,
                              std::optional<double> (*of_one)(std::span<const double>)) const {
  double sum = 0, count = 0;
  for (size_t c = class_count_ == 2 ? 1 : 0; c < class_count_; ++c)
    if (const auto one = of_one(sums.subspan(2 * c * bin_count, 2 * bin_count))) {
      sum += *one;
      ++count;
    }
  return count == 0 ? std::nullopt : std::optional{sum / count};
}

std::optional<double> average_precision_metric::value(std::span<const double> sums) const {
  return mean_over_classes(sums, [](std::span<const double> counts) -> std::optional<double> {
    double right = 0, all = 0, area = 0;
    for (auto i = counts.size(); i > 0; i -= 2) { // the highest probabilities first
      const double own = counts[i - 2];
      right += own;
      all += counts[i - 1];
      area += own > 0 ? own * (right / all) : 0;
    }
    return right == 0 ? std::nullopt : std::optional{area / right};
  });
}

brier_metric::brier_metric(size_t class_count) : class_count_(checked_class_count(class_count)) {}

// Rows, and halved squares.
void brier_metric::add(const judged_rows& rows, std::span<double> sums) const {
  require_fit(rows, class_count_, sums, sum_count());
  for_each_row(rows, class_count_, [&](std::span<const float> row, size_t label) {
    double squares = 0;
    for (size_t c = 0; c < class_count_; ++c) {
      const double distance = double{row[c]} - (c == label ? 1 : 0);
      squares += distance * distance;
    }
    sums[0] += 1;
    sums[1] += in_steps(squares / 2);
  });
}

std::optional<double> brier_metric::value(std::span<const double> sums) const {
  if (sums[0] == 0)
    return std::nullopt;
  const double halved = sums[1] / steps / sums[0];
  return class_count_ == 2 ? halved : 2 * halved;
}

calibration_metric::calibration_metric(size_t class_count)
  : class_count_(checked_class_count(class_count)) {}

// Of each bin: rows, rows whose class is the likeliest, and confidence.
void calibration_metric::add(const judged_rows& rows, std::span<double> sums) const {
  require_fit(rows, class_count_, sums, sum_count());
  for_each_row(rows, class_count_, [&](std::span<const float> row, size_t label) {
    const auto best = likeliest_of(row);
    const auto place = std::ceil(double{row[best]} * bin_count) - 1;
    const auto bin =
      sums.subspan(3 * static_cast<size_t>(std::clamp<double>(place, 0, bin_count - 1)), 3);
    bin[0] += 1;
    bin[1] += best == label ? 1 : 0;
    bin[2] += in_steps(row[best]);
  });
}

std::array<confidence_bin, calibration_metric::bin_count>
calibration_metric::bins(std::span<const double> sums) const {
  std::array<confidence_bin, bin_count> result;
  for (size_t i = 0; i < bin_count; ++i)
    if (const double rows = sums[3 * i]; rows > 0)
      result[i] = {rows, sums[3 * i + 1] / rows, sums[3 * i + 2] / steps / rows};
  return result;
}

std::optional<double> calibration_metric::value(std::span<const double> sums) const {
  double error = 0, rows = 0;
  for (const auto& bin : bins(sums)) {
    error += bin.row_count * std::abs(bin.accuracy - bin.confidence);
    rows += bin.row_count;
  }
  return rows > 0 ? std::optional{error / rows} : std::nullopt;
}

confusion_metric::confusion_metric(size_t class_count, figure shown)
  : class_count_(checked_class_count(class_count)), shown_(shown) {}

void confusion_metric::add(const judged_rows& rows, std::span<double> sums) const {
  require_fit(rows, class_count_, sums, sum_count());
  for (size_t i = 0; i < rows.row_count; ++i)
    sums[label_of(rows, i, class_count_) * class_count_ + likeliest_of(rows.row(i))] += 1;
}

std::optional<double> confusion_metric::value(std::span<const double> sums) const {
  const confusion_matrix matrix{class_count_, sums};
  if (matrix.total() == 0)
    return std::nullopt;
  return shown_ == figure::macro_f1 ? matrix.macro().f1 : matrix.balanced_accuracy();
}

} // namespace troupe
