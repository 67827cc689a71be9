#include "troupe/models/optimizers/lbfgs.hpp"

#include "troupe/models/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

constexpr double curvature_min = 1e-10;
constexpr double descent_min = 1e-18; ///< less than this is no way down any more

using vector = std::vector<double>;

double dot(std::span<const double> a, std::span<const double> b) {
  return lane_sum<double>(a.size(), [&](size_t i) { return a[i] * b[i]; });
}

void add_scaled(vector& a, double factor, std::span<const double> b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] += factor * b[i];
}

vector difference(std::span<const double> a, std::span<const double> b) {
  vector result(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    result[i] = a[i] - b[i];
  return result;
}

} // namespace

lbfgs::lbfgs(const lbfgs_options& options) : options_(options) {
  if (!(options.learning_rate > 0))
    throw std::invalid_argument("lbfgs: learning_rate must be positive");
  if (options.history_size == 0)
    throw std::invalid_argument("lbfgs: history_size must be at least 1");
}

bool lbfgs::step(std::span<const float> gradient_sum, uint64_t sample_count,
                 std::span<float> parameters) {
  const bool started = !gradient_before_.empty();
  if (gradient_sum.size() != parameters.size() ||
      (started && gradient_before_.size() != parameters.size()))
    throw std::invalid_argument("lbfgs: gradient and parameters differ in size");
  if (sample_count == 0)
    throw std::invalid_argument("lbfgs: a gradient over no samples has no mean");
  if (!all_finite(gradient_sum.data(), gradient_sum.size()))
    return false;
  vector gradient(gradient_sum.begin(), gradient_sum.end());
  for (auto& value : gradient)
    value /= static_cast<double>(sample_count);
  if (started)
    remember(gradient);
  choose_direction(gradient);
  if (!(-dot(gradient, direction_) > descent_min)) {
    std::ranges::fill(move_, 0.0); // the pair is kept already: not twice
    return false;
  }
  double rate = options_.learning_rate;
  if (!started)
    rate *= std::min(
      1.0, 1 / lane_sum<double>(gradient.size(), [&](size_t i) { return std::abs(gradient[i]); }));
  gradient_before_ = gradient;
  move_.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const float before = parameters[i];
    parameters[i] = static_cast<float>(before + rate * direction_[i]);
    move_[i] = static_cast<double>(parameters[i]) - before; // as it was, rounding included
  }
  return true;
}

void lbfgs::remember(std::span<const double> gradient) {
  auto change = difference(gradient, gradient_before_);
  const double curvature = dot(move_, change);
  if (!(curvature > curvature_min))
    return;
  if (pairs_.size() == options_.history_size)
    pairs_.pop_front();
  pairs_.push_back({move_, std::move(change), curvature});
}

void lbfgs::choose_direction(std::span<const double> gradient) {
  vector q(gradient.begin(), gradient.end());
  vector shares(pairs_.size());
  for (size_t i = pairs_.size(); i-- > 0;) {
    shares[i] = dot(pairs_[i].move, q) / pairs_[i].curvature;
    add_scaled(q, -shares[i], pairs_[i].change);
  }
  if (!pairs_.empty()) {
    const auto& newest = pairs_.back();
    const double scale = newest.curvature / dot(newest.change, newest.change);
    for (auto& value : q)
      value *= scale;
  }
  for (size_t i = 0; i < pairs_.size(); ++i)
    add_scaled(q, shares[i] - dot(pairs_[i].change, q) / pairs_[i].curvature, pairs_[i].move);
  for (auto& value : q)
    value = -value;
  direction_ = std::move(q);
}

} // namespace troupe
