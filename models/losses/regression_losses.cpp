#include "troupe/models/elementary.hpp"
#include "troupe/models/lanes.hpp"
#include "troupe/models/losses/row_losses.hpp"

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
                      float* derivative) {
  const auto count = static_cast<double>(scores.size());
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

} // namespace

batch_sums regression_row(const loss_options& loss, std::span<const float> scores,
                          std::span<const float> targets, float* derivative) {
  switch (loss.kind) {
  case loss_kind::squared:
    return sum_of_row(squared_loss{}, scores, targets, derivative);
  case loss_kind::absolute:
    return sum_of_row(absolute_loss{}, scores, targets, derivative);
  case loss_kind::huber:
    return sum_of_row(huber_loss{loss.huber_threshold}, scores, targets, derivative);
  case loss_kind::poisson:
    return sum_of_row(poisson_loss{}, scores, targets, derivative);
  case loss_kind::gamma:
    return sum_of_row(gamma_loss{}, scores, targets, derivative);
  default:
    throw std::invalid_argument("loss: no regression");
  }
}

} // namespace troupe::detail
