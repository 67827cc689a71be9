#include "models/losses/evaluate_loss.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/require.hpp"
#include "models/device/device_queue.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/losses/device_loss.hpp"
#include "models/losses/row_losses.hpp"
#include "models/math/elementary.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

namespace {

constexpr size_check require_size{"loss"};

/// Throws std::invalid_argument unless the rows have what the loss compares scores with.
void require_fit(const loss_options& loss, const batch& rows, size_t score_count) {
  if (!is_classification(loss.kind)) {
    require_size("targets", rows.row_count * score_count, rows.targets.size());
    if (!loss.class_weights.empty())
      throw std::invalid_argument("loss: class weights, but targets that are no classes");
    return;
  }
  require_size("labels", rows.row_count, rows.labels.size());
  if (is_binary(loss.kind))
    require_size("score a row", 1, score_count);
  if (!loss.class_weights.empty())
    require_size("class weights", is_binary(loss.kind) ? 2 : score_count,
                 loss.class_weights.size());
}

batch_sums cross_entropy_row(std::span<const float> scores, size_t label, float* derivative) {
  const auto best = detail::index_of_maximum(scores);
  const float maximum = scores[best];
  const float label_score = scores[label]; // read before the row is overwritten
  const float total = detail::exponentials(scores, maximum, derivative);
  const double loss = elementary::log(static_cast<double>(total)) -
                      (static_cast<double>(label_score) - static_cast<double>(maximum));
  const float inverse = 1 / total;
  for (size_t j = 0; j < scores.size(); ++j)
    derivative[j] *= inverse;
  derivative[label] -= 1;
  return {loss, 1, best == label ? 1u : 0u, 0};
}

batch_sums regression(const loss_options& loss, const batch& rows, std::span<const float> scores,
                      size_t score_count, std::span<float> derivative) {
  std::vector<float> room;
  const auto targets = detail::compared_targets(loss.scale, rows.targets, score_count, room);
  const auto squares = loss.scale.is_none() ? 0
                                            : detail::squared_errors(loss, scores, score_count,
                                                                     rows.targets, 0, score_count);
  batch_sums sums;
  if (score_count == 1 && rows.weights.empty())
    sums = detail::regression_column(loss, scores, targets, derivative.data());
  else
    for (size_t i = 0; i < rows.row_count; ++i) {
      const auto start = i * score_count;
      const auto out = derivative.subspan(start, score_count);
      auto row =
        detail::regression_row(loss, scores.subspan(start, score_count),
                               targets.subspan(start, score_count), score_count, out.data());
      detail::apply_weight(loss, rows, i, 0, row, out);
      sums = sums + row;
    }
  if (!loss.scale.is_none())
    sums.squared_error_sum = squares;
  return sums;
}

batch_sums classification(const loss_options& loss, const batch& rows,
                          std::span<const float> scores, size_t score_count,
                          std::span<float> derivative) {
  const bool binary = is_binary(loss.kind);
  const size_t class_count = binary ? 2 : score_count;
  batch_sums sums;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto label = detail::checked_label(rows, i, class_count);
    const auto start = i * score_count;
    const auto out = derivative.subspan(start, score_count);
    auto row = binary ? detail::binary_row(loss, scores[start], label, out.data())
                      : cross_entropy_row(scores.subspan(start, score_count), label, out.data());
    detail::apply_weight(loss, rows, i, label, row, out);
    sums = sums + row;
  }
  return sums;
}

double added_probability(loss_kind kind, double score, size_t label) {
  const double second = losses().made(kind).predicted(score);
  return label == 1 ? second : 1 - second;
}

} // namespace

namespace detail {

size_t index_of_maximum(std::span<const float> scores) {
  size_t best = 0;
  for (size_t j = 1; j < scores.size(); ++j)
    if (scores[j] > scores[best])
      best = j;
  return best;
}

float exponentials(std::span<const float> scores, float maximum, float* out) {
  for (size_t j = 0; j < scores.size(); ++j)
    out[j] = elementary::exp(scores[j] - maximum);
  return lane_sum<float>(scores.size(), [out](size_t j) { return out[j]; });
}

size_t checked_label(const batch& rows, size_t i, size_t class_count) {
  const auto label = rows.labels[i];
  if (label < 0 || static_cast<size_t>(label) >= class_count)
    throw std::invalid_argument("loss: label " + std::to_string(label) + " of row " +
                                std::to_string(i) + " is not below " + std::to_string(class_count));
  return static_cast<size_t>(label);
}

namespace {

float weight_of(const loss_options& loss, const batch& rows, size_t i, size_t label) {
  const float of_class = loss.class_weights.empty() ? 1.0f : loss.class_weights[label];
  return rows.weights.empty() ? of_class : of_class * rows.weights[i];
}

} // namespace

std::vector<float> row_weights(const loss_options& loss, const batch& rows) {
  std::vector<float> result;
  if (!loss.class_weights.empty() || !rows.weights.empty())
    for (size_t i = 0; i < rows.row_count; ++i)
      result.push_back(weight_of(
        loss, rows, i, loss.class_weights.empty() ? 0 : static_cast<size_t>(rows.labels[i])));
  return result;
}

void apply_weight(const loss_options& loss, const batch& rows, size_t i, size_t label,
                  batch_sums& sums, std::span<float> derivative) {
  if (loss.class_weights.empty() && rows.weights.empty())
    return;
  const float weight = weight_of(loss, rows, i, label);
  sums.loss_sum *= weight;
  for (auto& value : derivative)
    value *= weight;
}

void require_weights(const batch& rows) {
  if (!rows.weights.empty())
    require_size("weights", rows.row_count, rows.weights.size());
}

} // namespace detail

batch_sums evaluate_loss(const loss_options& loss, const batch& rows, std::span<const float> scores,
                         size_t score_count, std::span<float> derivative) {
  require_size("scores", rows.row_count * score_count, scores.size());
  require_size("derivatives", scores.size(), derivative.size());
  detail::require_weights(rows);
  require_fit(loss, rows, score_count);
  if (auto* const device = device_of(scores)) {
    if (!is_added(loss.kind) && loss.scale.is_none())
      return detail::evaluate_on_device(loss, rows, scores, score_count, derivative);
    auto copy = device->copy_of(scores);
    const auto sums = evaluate_loss(loss, rows, copy, score_count, copy);
    device->upload(copy, derivative);
    return sums;
  }
  return is_classification(loss.kind) ? classification(loss, rows, scores, score_count, derivative)
                                      : regression(loss, rows, scores, score_count, derivative);
}

void predict_from_scores(const loss_options& loss, std::span<const float> scores,
                         size_t score_count, std::span<float> out) {
  require_size("predictions", scores.size() * (is_binary(loss.kind) ? 2 : 1), out.size());
  if (is_binary(loss.kind))
    require_size("score a row", 1, score_count);
  if (auto* const device = device_of(scores))
    return predict_from_scores(loss, device->copy_of(scores), score_count, out);
  if (is_binary(loss.kind)) {
    const bool margins = gives_margins(loss.kind);
    for (size_t i = 0; i < scores.size(); ++i)
      for (size_t label : {0u, 1u}) {
        const double s = label == 1 ? scores[i] : -scores[i];
        out[2 * i + label] =
          static_cast<float>(margins               ? s
                             : is_added(loss.kind) ? added_probability(loss.kind, scores[i], label)
                                                   : link_probability(loss.link, s));
      }
    return;
  }
  copy_values(scores, out.begin());
  if (is_classification(loss.kind))
    softmax_rows(out, score_count);
  if (has_log_link(loss.kind))
    for (auto& value : out)
      value = elementary::exp(value);
  if (is_added(loss.kind))
    if (const auto& predicted = losses().made(loss.kind).predicted)
      for (auto& value : out)
        value = static_cast<float>(predicted(value));
  if (!loss.scale.is_none())
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = loss.scale.unscaled(out[i], i % score_count);
}

void softmax_rows(std::span<float> scores, size_t score_count) {
  for (size_t start = 0; start < scores.size(); start += score_count) {
    const auto row = scores.subspan(start, score_count);
    const float total = detail::exponentials(row, row[detail::index_of_maximum(row)], row.data());
    for (auto& value : row)
      value /= total;
  }
}

} // namespace troupe
