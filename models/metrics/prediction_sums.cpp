#include "models/metrics/prediction_sums.hpp"

#include "models/math/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double harmonic_mean(double a, double b) {
  return a + b > 0 ? 2 * a * b / (a + b) : 0;
}

std::optional<double> mean(double sum, uint64_t count) {
  if (count == 0)
    return std::nullopt;
  return sum / static_cast<double>(count);
}

// Moments of every `stride`-th value from `first`: the mean first, then distances from it.
moments moments_of(std::span<const float> values, size_t first, size_t stride) {
  const auto count = values.size() / stride;
  const auto value = [&](size_t i) { return static_cast<double>(values[first + i * stride]); };
  moments result;
  result.count = count;
  result.mean = lane_sum<double>(count, value) / static_cast<double>(count);
  result.squares = lane_sum<double>(count, [&](size_t i) {
    const double difference = value(i) - result.mean;
    return difference * difference;
  });
  return result;
}

} // namespace

confusion_matrix::confusion_matrix(size_t class_count)
  : class_count_(class_count), counts_(class_count * class_count) {
  if (class_count == 0)
    throw std::invalid_argument("confusion matrix: there are no classes");
}

confusion_matrix::confusion_matrix(size_t class_count, std::span<const double> counts)
  : confusion_matrix(class_count) {
  std::ranges::transform(counts.first(counts_.size()), counts_.begin(), [](double x) {
    return x > 0 && x < 0x1p53 ? static_cast<uint64_t>(x) : 0;
  });
}

void confusion_matrix::add(size_t actual, size_t predicted) {
  if (actual >= class_count_ || predicted >= class_count_)
    throw std::invalid_argument("confusion matrix: class " +
                                std::to_string(std::max(actual, predicted)) + " is not below " +
                                std::to_string(class_count_));
  ++counts_[actual * class_count_ + predicted];
}

uint64_t confusion_matrix::actual_count(size_t label) const {
  uint64_t result = 0;
  for (size_t j = 0; j < class_count_; ++j)
    result += count(label, j);
  return result;
}

uint64_t confusion_matrix::predicted_count(size_t label) const {
  uint64_t result = 0;
  for (size_t i = 0; i < class_count_; ++i)
    result += count(i, label);
  return result;
}

uint64_t confusion_matrix::total() const {
  uint64_t result = 0;
  for (auto n : counts_)
    result += n;
  return result;
}

uint64_t confusion_matrix::correct() const {
  uint64_t result = 0;
  for (size_t i = 0; i < class_count_; ++i)
    result += count(i, i);
  return result;
}

std::optional<double> confusion_matrix::accuracy() const {
  return mean(static_cast<double>(correct()), total());
}

class_scores confusion_matrix::scores(size_t label) const {
  class_scores result;
  result.precision = ratio(count(label, label), predicted_count(label));
  result.recall = ratio(count(label, label), actual_count(label));
  result.f1 = harmonic_mean(result.precision, result.recall);
  return result;
}

class_scores confusion_matrix::macro() const {
  class_scores sum;
  size_t occurring = 0;
  for (size_t label = 0; label < class_count_; ++label) {
    if (actual_count(label) + predicted_count(label) == 0)
      continue;
    const auto one = scores(label);
    sum = {sum.precision + one.precision, sum.recall + one.recall, sum.f1 + one.f1};
    ++occurring;
  }
  const auto n = static_cast<double>(std::max<size_t>(occurring, 1));
  return {sum.precision / n, sum.recall / n, sum.f1 / n};
}

double confusion_matrix::balanced_accuracy() const {
  double sum = 0;
  size_t occurring = 0;
  for (size_t label = 0; label < class_count_; ++label)
    if (const auto actual = actual_count(label); actual > 0) {
      sum += ratio(count(label, label), actual);
      ++occurring;
    }
  return sum / static_cast<double>(std::max<size_t>(occurring, 1));
}

moments operator+(const moments& a, const moments& b) {
  if (a.count == 0)
    return b;
  if (b.count == 0)
    return a;
  const auto left = static_cast<double>(a.count), right = static_cast<double>(b.count);
  const double n = left + right, d = b.mean - a.mean;
  return {a.count + b.count, a.mean + d * (right / n),
          a.squares + b.squares + d * d * (left * (right / n))};
}

regression_sums operator+(const regression_sums& a, const regression_sums& b) {
  if (a.count == 0)
    return b;
  regression_sums result = a;
  result.count += b.count;
  result.squared_error_sum += b.squared_error_sum;
  result.absolute_error_sum += b.absolute_error_sum;
  for (size_t t = 0; t < b.targets.size(); ++t)
    result.targets[t] = a.targets[t] + b.targets[t];
  return result;
}

std::optional<double> regression_sums::mean_squared_error() const {
  return mean(squared_error_sum, count);
}

std::optional<double> regression_sums::mean_absolute_error() const {
  return mean(absolute_error_sum, count);
}

std::optional<double> regression_sums::r2() const {
  double total = 0;
  for (const auto& target : targets)
    total += target.squares;
  if (!(total > 0))
    return std::nullopt;
  return 1 - squared_error_sum / total;
}

regression_sums compare(std::span<const float> predictions, std::span<const float> targets,
                        size_t target_count) {
  if (predictions.size() != targets.size() || target_count == 0 ||
      targets.size() % target_count != 0)
    throw std::invalid_argument("compare: " + std::to_string(predictions.size()) +
                                " predictions for " + std::to_string(targets.size()) +
                                " values of " + std::to_string(target_count) + " targets");
  regression_sums result;
  result.count = targets.size();
  if (targets.empty())
    return result;
  const auto error = [&](size_t i) { return static_cast<double>(predictions[i]) - targets[i]; };
  result.squared_error_sum =
    lane_sum<double>(targets.size(), [&](size_t i) { return error(i) * error(i); });
  result.absolute_error_sum =
    lane_sum<double>(targets.size(), [&](size_t i) { return std::fabs(error(i)); });
  for (size_t t = 0; t < target_count; ++t)
    result.targets.push_back(moments_of(targets, t, target_count));
  return result;
}

tensor_figures figures_of(std::span<const float> values) {
  tensor_figures result;
  bool any = false;
  for (auto value : values) {
    if (!std::isfinite(value)) {
      ++result.not_finite_count;
      continue;
    }
    result.minimum = any ? std::min(result.minimum, value) : value;
    result.maximum = any ? std::max(result.maximum, value) : value;
    any = true;
  }
  result.norm = std::sqrt(lane_sum<double>(values.size(), [&](size_t i) {
    const double value = std::isfinite(values[i]) ? static_cast<double>(values[i]) : 0.0;
    return value * value;
  }));
  return result;
}

} // namespace troupe
