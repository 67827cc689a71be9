#include "models/losses/row_losses.hpp"

#include "models/base/multiversion.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/losses/loss_elements.hpp"
#include "models/math/lanes.hpp"

#include <stdexcept>

namespace troupe::detail {

namespace {

using namespace elementary;

#define TROUPE_FUNCTION(name)                                                                      \
  struct name##_function {                                                                         \
    double constant;                                                                               \
    TROUPE_ALWAYS_INLINE loss_element operator()(double score, double target) const {              \
      return name##_loss(score, target, constant);                                                 \
    }                                                                                              \
  };
TROUPE_REGRESSIONS(TROUPE_FUNCTION)
#undef TROUPE_FUNCTION

template <class Loss>
batch_sums sum_of_row(Loss loss, std::span<const float> scores, std::span<const float> targets,
                      size_t score_count, float* derivative) {
  const auto count = static_cast<double>(score_count);
  const auto at = [&](size_t j) {
    return loss(static_cast<double>(scores[j]), static_cast<double>(targets[j]));
  };
  const auto value = lane_sum<double>(scores.size(), [&](size_t j) { return at(j).value; });
  const auto squares = lane_sum<double>(scores.size(), [&](size_t j) {
    const double error = at(j).error;
    return error * error;
  });
  for (size_t j = 0; j < scores.size(); ++j)
    derivative[j] = static_cast<float>(at(j).derivative / count);
  return {value / count, 1, 0, squares};
}

// One score a row: the rows themselves are the lanes.
template <class Loss>
TROUPE_ALWAYS_INLINE batch_sums sum_of_column(Loss loss, const float* scores, const float* targets,
                                              float* derivative, size_t rows) {
  const auto at = [&](size_t i) __attribute__((always_inline)) {
    return loss(static_cast<double>(scores[i]), static_cast<double>(targets[i]));
  };
  const auto value = lane_sum<double>(
    rows, [&](size_t i) __attribute__((always_inline)) { return at(i).value; });
  const auto squares = lane_sum<double>(
    rows, [&](size_t i) __attribute__((always_inline)) {
      const double error = at(i).error;
      return error * error;
    });
  for (size_t i = 0; i < rows; ++i)
    derivative[i] = static_cast<float>(at(i).derivative);
  return {value, rows, 0, squares};
}

// Calls `use` with the function object of the loss: the one place that lists them all.
template <class Use>
TROUPE_ALWAYS_INLINE batch_sums with_loss(const loss_options& loss, Use use) {
#define TROUPE_CASE(name)                                                                          \
  case loss_kind::name:                                                                            \
    return use(name##_function{loss.huber_threshold});
  switch (loss.kind) {
    TROUPE_REGRESSIONS(TROUPE_CASE)
  default:
    throw std::invalid_argument("loss: no regression");
  }
#undef TROUPE_CASE
}

TROUPE_MULTIVERSION batch_sums sums_of_column(const loss_options& loss, const float* scores,
                                              const float* targets, float* derivative,
                                              size_t rows) {
  return with_loss(
    loss, [=](auto function) __attribute__((always_inline)) {
      return sum_of_column(function, scores, targets, derivative, rows);
    });
}

// Sums of an added loss over scores whose losses count as their share of a row of `width`.
batch_sums sums_of_added(const own_loss& loss, std::span<const float> scores,
                         std::span<const float> targets, size_t width, float* derivative) {
  std::vector<loss_value> found(scores.size());
  loss.evaluate(scores, targets, found);
  const auto count = static_cast<double>(width);
  const auto value = lane_sum<double>(
    scores.size(), [&](size_t i) { return found[i].value + nothing_of(scores[i]); });
  const auto squares = lane_sum<double>(scores.size(), [&](size_t i) {
    const double score = scores[i];
    const double error = (loss.predicted ? loss.predicted(score) : score) - targets[i];
    return error * error;
  });
  for (size_t i = 0; i < scores.size(); ++i)
    derivative[i] = static_cast<float>(found[i].derivative / count);
  return {value / count, 1, 0, squares};
}

} // namespace

std::span<const float> compared_targets(const target_scale& scale, std::span<const float> targets,
                                        size_t target_count, std::vector<float>& room) {
  if (scale.is_none())
    return targets;
  room.resize(targets.size());
  for (size_t i = 0; i < targets.size(); ++i)
    room[i] = scale.scaled(targets[i], i % target_count);
  return room;
}

double squared_errors(const loss_options& loss, std::span<const float> scores, size_t width,
                      std::span<const float> targets, size_t first, size_t target_count) {
  const auto errors_of = [&](auto predicted) {
    return lane_sum<double>(scores.size(), [&](size_t i) {
      const auto t = first + i % width;
      const double error = static_cast<double>(loss.scale.unscaled(predicted(scores[i]), t)) -
                           static_cast<double>(targets[i / width * target_count + t]);
      return error * error;
    });
  };
  if (is_added(loss.kind))
    if (const auto& predicted = losses().made(loss.kind).predicted)
      return errors_of([&predicted](float score) { return static_cast<float>(predicted(score)); });
  return errors_of([](float score) { return score; });
}

batch_sums regression_column(const loss_options& loss, std::span<const float> scores,
                             std::span<const float> targets, float* derivative) {
  if (is_added(loss.kind)) {
    auto sums = sums_of_added(losses().made(loss.kind), scores, targets, 1, derivative);
    sums.sample_count = scores.size();
    return sums;
  }
  return sums_of_column(loss, scores.data(), targets.data(), derivative, scores.size());
}

batch_sums regression_row(const loss_options& loss, std::span<const float> scores,
                          std::span<const float> targets, size_t score_count, float* derivative) {
  if (is_added(loss.kind))
    return sums_of_added(losses().made(loss.kind), scores, targets, score_count, derivative);
  return with_loss(loss, [&](auto function) {
    return sum_of_row(function, scores, targets, score_count, derivative);
  });
}

namespace {

loss_value value_of(const loss_element& x) {
  return {x.value, x.derivative};
}

loss_value loss_of(const loss_options& loss, double signed_score) {
  switch (loss.kind) {
  case loss_kind::binary_cross_entropy:
    return cross_entropy_of(loss.link, signed_score);
  case loss_kind::hinge:
    return value_of(hinge_loss(signed_score, 0));
  case loss_kind::squared_hinge:
    return value_of(hinge_loss(signed_score, 1));
  default:
    throw std::invalid_argument("loss: not a binary one");
  }
}

} // namespace

batch_sums binary_row(const loss_options& loss, float score, size_t label, float* derivative) {
  if (is_added(loss.kind)) {
    const auto& own = losses().made(loss.kind);
    const float target = label == 1 ? 1 : 0;
    auto sums = sums_of_added(own, {&score, 1}, {&target, 1}, 1, derivative);
    const bool is_second = own.predicted ? own.predicted(score) > 0.5 : score > 0;
    sums.correct_count = is_second == (label == 1) ? 1u : 0u;
    sums.squared_error_sum = 0;
    return sums;
  }
  const size_t predicted = score > 0 ? 1 : 0;
  const double sign = label == 1 ? 1 : -1;
  const auto [value, slope] = loss_of(loss, sign * static_cast<double>(score));
  *derivative = static_cast<float>(sign * slope);
  return {value, 1, predicted == label ? 1u : 0u, 0};
}

} // namespace troupe::detail
