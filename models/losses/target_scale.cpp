#include "models/losses/target_scale.hpp"

#include "models/base/rounding.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

double transformed(target_scale_kind kind, double y) {
  switch (kind) {
  case target_scale_kind::none:
  case target_scale_kind::standardize:
    break;
  case target_scale_kind::log:
    return elementary::log(y);
  case target_scale_kind::log1p:
    return elementary::log1p(y);
  case target_scale_kind::asinh: {
    const double size = std::fabs(y);
    const double t = elementary::log1p(size + size * size / (1 + std::sqrt(size * size + 1)));
    return y < 0 ? -t : t;
  }
  }
  return y;
}

double inverse(target_scale_kind kind, double t) {
  const auto exp = [](double x) {
    return elementary::exp_for_float(elementary::clamped(x, -700, 700));
  };
  switch (kind) {
  case target_scale_kind::none:
  case target_scale_kind::standardize:
    break;
  case target_scale_kind::log:
    return exp(t);
  case target_scale_kind::log1p:
    return exp(t) - 1;
  case target_scale_kind::asinh:
    return (exp(t) - exp(-t)) / 2;
  }
  return t;
}

} // namespace

float target_scale::scaled(float target, size_t t) const {
  return static_cast<float>((transformed(kind, target) - mean[t]) / deviation[t]);
}

float target_scale::unscaled(float score, size_t t) const {
  constexpr double largest = std::numeric_limits<float>::max();
  const double y = inverse(kind, static_cast<double>(score) * deviation[t] + mean[t]);
  return std::isfinite(score) ? static_cast<float>(elementary::clamped(y, -largest, largest))
                              : score;
}

void target_scale_fit::add(std::span<const float> targets) {
  const default_rounding rounding;
  for (size_t begin = 0; begin < targets.size(); begin += means_.size()) {
    const auto row = targets.subspan(begin, means_.size());
    if (!std::ranges::all_of(row, [&](float y) { return accepts_target(kind_, y); }))
      continue;
    ++row_count_;
    for (size_t t = 0; t < row.size(); ++t) {
      const double value = transformed(kind_, row[t]);
      const double before = value - means_[t];
      means_[t] += before / static_cast<double>(row_count_);
      squares_[t] += before * (value - means_[t]);
    }
  }
}

target_scale target_scale_fit::result() const {
  target_scale result{kind_, {}, {}};
  for (size_t t = 0; t < means_.size(); ++t) {
    const auto n = static_cast<double>(std::max<uint64_t>(row_count_, 1));
    const auto deviation = static_cast<float>(std::sqrt(squares_[t] / n));
    result.mean.push_back(static_cast<float>(means_[t]));
    result.deviation.push_back(deviation > 0 && std::isfinite(deviation) ? deviation : 1.0f);
  }
  return result;
}

} // namespace troupe
