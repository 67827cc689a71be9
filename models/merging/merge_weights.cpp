#include "models/merging/merge_weights.hpp"

#include "models/metrics/prediction_sums.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("weights of models: " + what);
}

void require_some(size_t n) {
  if (n == 0)
    refuse("there are no models to weigh");
}

double sum_of(std::span<const double> numbers) {
  double sum = 0;
  for (auto number : numbers)
    sum += number;
  return sum;
}

// Numbers that are >= 0, divided by their sum; equal shares when that is 0.
std::vector<double> shares(std::span<const double> numbers) {
  const double sum = sum_of(numbers);
  if (sum == 0)
    return equal_weights(numbers.size());
  std::vector<double> result;
  for (auto number : numbers)
    result.push_back(number / sum);
  return result;
}

} // namespace

judgement judge(const model& network, std::span<const float> parameters, const batch& rows,
                workspace& memory) {
  if (rows.row_count == 0)
    throw std::invalid_argument("judge: there are no validation rows");
  judgement result;
  result.sample_count = rows.row_count;
  result.classification = rows.targets.empty();
  if (result.classification) {
    result.correct_count = network.evaluate(parameters, rows, memory).correct_count;
    return result;
  }
  std::vector<float> predictions(rows.row_count * network.prediction_count());
  network.predict(parameters, rows, predictions, memory);
  result.absolute_error_sum =
    compare(predictions, rows.targets, network.output_count()).absolute_error_sum;
  return result;
}

std::vector<double> equal_weights(size_t n) {
  require_some(n);
  return std::vector<double>(n, 1 / static_cast<double>(n));
}

std::vector<double> regression_weights(std::span<const double> error_sums) {
  const auto n = error_sums.size();
  require_some(n);
  for (auto error : error_sums)
    if (!(error >= 0))
      refuse("a sum of absolute errors is " + std::to_string(error));
  const double total = sum_of(error_sums);
  if (!std::isfinite(total))
    refuse("the errors add up to infinity");
  if (n == 1 || total == 0) // the formula would divide 0 by 0
    return equal_weights(n);
  std::vector<double> result;
  for (auto error : error_sums)
    result.push_back((1 - error / total) / static_cast<double>(n - 1));
  return result;
}

std::vector<double> classification_weights(std::span<const double> accuracies) {
  require_some(accuracies.size());
  for (auto accuracy : accuracies)
    if (!(accuracy >= 0 && accuracy <= 1))
      refuse("an accuracy is " + std::to_string(accuracy) + ", not in [0, 1]");
  return shares(accuracies);
}

std::vector<double> accuracy_weights(std::span<const judgement> judgements) {
  require_some(judgements.size());
  std::vector<double> figures;
  for (const auto& x : judgements) {
    if (x.classification != judgements.front().classification)
      refuse("some models were judged as classifications, others as regressions");
    if (x.sample_count == 0)
      refuse("a model was judged on no rows");
    figures.push_back(x.classification
                        ? static_cast<double>(x.correct_count) / static_cast<double>(x.sample_count)
                        : x.absolute_error_sum);
  }
  return judgements.front().classification ? classification_weights(figures)
                                           : regression_weights(figures);
}

std::vector<double> best_weights(std::span<const double> accuracies) {
  require_some(accuracies.size());
  std::vector<double> result(accuracies.size());
  const auto best = std::ranges::max_element(accuracies); // the first of equals
  result[static_cast<size_t>(best - accuracies.begin())] = 1;
  return result;
}

std::vector<double> custom_weights(std::span<const double> numbers) {
  require_some(numbers.size());
  for (auto number : numbers)
    if (!(number >= 0))
      refuse("a weight is " + std::to_string(number) + "; give numbers of 0 or more");
  const double sum = sum_of(numbers);
  if (!(sum > 0) || !std::isfinite(sum))
    refuse("they add up to " + std::to_string(sum) + "; at least one must be above 0, all finite");
  return shares(numbers);
}

std::vector<double> sample_weights(std::span<const uint64_t> sample_counts) {
  const std::vector<double> numbers(sample_counts.begin(), sample_counts.end());
  require_some(numbers.size());
  if (sum_of(numbers) == 0)
    refuse("no model was trained on a sample");
  return shares(numbers);
}

} // namespace troupe
