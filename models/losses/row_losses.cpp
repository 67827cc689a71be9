#include "models/losses/row_losses.hpp"

#include "models/base/multiversion.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/math/elementary.hpp"
#include "models/math/lanes.hpp"

#include <stdexcept>

namespace troupe::detail {

namespace {

using elementary::clamped;
using elementary::exp_for_float;

// One output: its loss, derivative by the score, and the error of the predicted value.
struct element {
  double value;
  double derivative;
  double error;
};

// 0, or NaN when x is not finite: added where a formula would forget it.
double nothing(double x) {
  return x * 0;
}

struct squared_loss {
  element operator()(double score, double target) const {
    const double e = score - target;
    return {e * e, 2 * e, e};
  }
};

struct absolute_loss {
  element operator()(double score, double target) const {
    const double e = score - target;
    const double sign = e > 0 ? 1 : e < 0 ? -1 : 0;
    return {sign * e + nothing(e), sign + nothing(e), e};
  }
};

struct huber_loss {
  double threshold;
  element operator()(double score, double target) const {
    const double e = score - target;
    const double bounded = clamped(e, -threshold, threshold);
    // e^2 / 2 within the threshold, where `bounded` is e; else threshold (|e| - threshold / 2)
    return {bounded * (e - bounded / 2) + nothing(e), bounded + nothing(e), e};
  }
};

struct poisson_loss {
  element operator()(double score, double target) const {
    const double mean = exp_for_float(clamped(score, -700, 700));
    const double own = target > 0 ? target * elementary::log(target) : nothing(target);
    return {2 * (own - target * score - target + mean) + nothing(score),
            2 * (mean - target) + nothing(score), mean - target};
  }
};

struct gamma_loss {
  element operator()(double score, double target) const {
    const double ratio = target * exp_for_float(clamped(-score, -700, 700));
    const double mean = exp_for_float(clamped(score, -700, 700));
    return {2 * (ratio + score - elementary::log(target) - 1) + nothing(score),
            2 * (1 - ratio) + nothing(score), mean - target};
  }
};

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
  switch (loss.kind) {
  case loss_kind::squared:
    return use(squared_loss{});
  case loss_kind::absolute:
    return use(absolute_loss{});
  case loss_kind::huber:
    return use(huber_loss{loss.huber_threshold});
  case loss_kind::poisson:
    return use(poisson_loss{});
  case loss_kind::gamma:
    return use(gamma_loss{});
  default:
    throw std::invalid_argument("loss: no regression");
  }
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
  const auto value =
    lane_sum<double>(scores.size(), [&](size_t i) { return found[i].value + nothing(scores[i]); });
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

// Hinge and squared hinge of the signed score.
loss_value hinge_of(bool squared, double signed_score) {
  const double gap = 1 - signed_score;
  const double nothing = signed_score * 0; // NaN when not finite, where the loss would be 0
  const double missing = gap <= 0 ? 0 : gap;
  if (squared)
    return {missing * missing + nothing, -2 * missing + nothing};
  return {missing + nothing, (gap > 0 ? -1 : 0) + nothing};
}

loss_value loss_of(const loss_options& loss, double signed_score) {
  switch (loss.kind) {
  case loss_kind::binary_cross_entropy:
    return cross_entropy_of(loss.link, signed_score);
  case loss_kind::hinge:
    return hinge_of(false, signed_score);
  case loss_kind::squared_hinge:
    return hinge_of(true, signed_score);
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
