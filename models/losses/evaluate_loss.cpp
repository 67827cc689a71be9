#include "troupe/models/losses/evaluate_loss.hpp"

#include "troupe/models/elementary.hpp"
#include "troupe/models/lanes.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

namespace {

void require_size(const char* what, size_t expected, size_t actual) {
  if (expected != actual)
    throw std::invalid_argument(std::string{"loss: expected "} + std::to_string(expected) + " " +
                                what + ", got " + std::to_string(actual));
}

// The first highest score; 0 when a NaN is in the way.
size_t index_of_maximum(std::span<const float> scores) {
  size_t best = 0;
  for (size_t j = 1; j < scores.size(); ++j)
    if (scores[j] > scores[best])
      best = j;
  return best;
}

// Writes e^(s_j - maximum) to `out` (which may be `scores`) and returns their sum.
float exponentials(std::span<const float> scores, float maximum, float* out) {
  for (size_t j = 0; j < scores.size(); ++j)
    out[j] = elementary::exp(scores[j] - maximum);
  return lane_sum<float>(scores.size(), [out](size_t j) { return out[j]; });
}

batch_sums squared_row(std::span<const float> scores, std::span<const float> targets,
                       float* derivative) {
  const auto count = static_cast<double>(scores.size());
  const auto error_sum = lane_sum<double>(scores.size(), [&](size_t j) {
    const double error = static_cast<double>(scores[j]) - targets[j];
    return error * error;
  });
  const auto factor = static_cast<float>(2 / count);
  for (size_t j = 0; j < scores.size(); ++j)
    derivative[j] = factor * (scores[j] - targets[j]);
  return {error_sum / count, 1, 0, error_sum};
}

batch_sums cross_entropy_row(std::span<const float> scores, size_t label, float* derivative) {
  const auto best = index_of_maximum(scores);
  const float maximum = scores[best];
  const float label_score = scores[label]; // read before the row is overwritten
  const float total = exponentials(scores, maximum, derivative);
  const double loss = elementary::log(static_cast<double>(total)) -
                      (static_cast<double>(label_score) - static_cast<double>(maximum));
  const float inverse = 1 / total;
  for (size_t j = 0; j < scores.size(); ++j)
    derivative[j] *= inverse;
  derivative[label] -= 1;
  return {loss, 1, best == label ? 1u : 0u, 0};
}

batch_sums squared(const batch& rows, std::span<const float> scores, size_t score_count,
                   std::span<float> derivative) {
  require_size("targets", scores.size(), rows.targets.size());
  batch_sums sums;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto start = i * score_count;
    sums = sums + squared_row(scores.subspan(start, score_count),
                              rows.targets.subspan(start, score_count), derivative.data() + start);
  }
  return sums;
}

batch_sums cross_entropy(const batch& rows, std::span<const float> scores, size_t score_count,
                         std::span<float> derivative) {
  require_size("labels", rows.row_count, rows.labels.size());
  batch_sums sums;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto label = rows.labels[i];
    if (label < 0 || static_cast<size_t>(label) >= score_count)
      throw std::invalid_argument("loss: label " + std::to_string(label) + " of row " +
                                  std::to_string(i) + " is not below " +
                                  std::to_string(score_count));
    const auto start = i * score_count;
    sums = sums + cross_entropy_row(scores.subspan(start, score_count), static_cast<size_t>(label),
                                    derivative.data() + start);
  }
  return sums;
}

} // namespace

batch_sums evaluate_loss(loss_kind kind, const batch& rows, std::span<const float> scores,
                         size_t score_count, std::span<float> derivative) {
  require_size("scores", rows.row_count * score_count, scores.size());
  require_size("derivatives", scores.size(), derivative.size());
  switch (kind) {
  case loss_kind::squared:
    return squared(rows, scores, score_count, derivative);
  case loss_kind::categorical_cross_entropy:
    return cross_entropy(rows, scores, score_count, derivative);
  }
  throw std::invalid_argument("loss: unknown kind");
}

void softmax_rows(std::span<float> scores, size_t score_count) {
  for (size_t start = 0; start < scores.size(); start += score_count) {
    const auto row = scores.subspan(start, score_count);
    const float total = exponentials(row, row[index_of_maximum(row)], row.data());
    for (auto& value : row)
      value /= total;
  }
}

} // namespace troupe
