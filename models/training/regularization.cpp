#include "models/training/regularization.hpp"

#include "models/base/multiversion.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

TROUPE_MULTIVERSION void scale_values(const float* in, float factor, float* out, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    out[i] = in[i] * factor;
}

TROUPE_MULTIVERSION void clip_values(float* values, float limit, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float low = values[i] < -limit ? -limit : values[i];
    values[i] = low > limit ? limit : low;
  }
}

TROUPE_MULTIVERSION void add_penalties(float* __restrict gradient,
                                       const float* __restrict parameters, float l1, float l2,
                                       size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float p = parameters[i];
    const float sign = p > 0 ? l1 : (p < 0 ? -l1 : 0.0f);
    gradient[i] += l2 * p + sign;
  }
}

TROUPE_MULTIVERSION double sum_of_squares(const float* values, float factor, size_t count) {
  return lane_sum<double>(count, [values, factor](size_t i) {
    const auto g = static_cast<double>(values[i] * factor);
    return g * g;
  });
}

/// Calls `visit(begin, end)` with those of `count` elements from `offset` on that lie in `ranges`, counted from there.
template <class Visit>
void for_each_of(const std::vector<index_range>& ranges, size_t offset, size_t count,
                 const Visit& visit) {
  const size_t last = offset + count;
  auto range = std::ranges::partition_point(
    ranges, [offset](const index_range& x) { return x.end <= offset; });
  for (; range != ranges.end() && range->begin < last; ++range)
    visit(std::max(range->begin, offset) - offset, std::min(range->end, last) - offset);
}

} // namespace

std::vector<index_range> penalized_ranges(const parameter_layout& layout,
                                          const std::vector<index_range>& frozen) {
  auto result =
    ranges_of(layout, [](const tensor_info& tensor) { return !tensor.name.ends_with(".bias"); });
  if (frozen.empty())
    return result;
  // Frozen ranges are whole pieces of the working order, so each cuts one of these.
  for (const auto& held : frozen) {
    std::vector<index_range> left;
    for (const auto& range : result)
      for (const auto& part : {index_range{range.begin, std::min(range.end, held.begin)},
                               index_range{std::max(range.begin, held.end), range.end}})
        if (part.begin < part.end)
          left.push_back(part);
    result = std::move(left);
  }
  return result;
}

regularization::regularization(const optimizer_options& options, std::vector<index_range> penalized,
                               std::vector<index_range> frozen)
  : l1_(static_cast<float>(options.l1)),
    l2_(static_cast<float>(options.l2)),
    clip_value_(static_cast<float>(options.clip_value)),
    clip_norm_(options.clip_norm),
    penalized_(std::move(penalized)),
    frozen_(std::move(frozen)) {
  for (double value : {options.l1, options.l2, options.clip_value, options.clip_norm})
    if (!(value >= 0 && std::isfinite(value)))
      throw std::invalid_argument("regularization: l1, l2 and clipping must be 0 or more");
  if (options.clip_value > 0 && options.clip_norm > 0)
    throw std::invalid_argument("regularization: clip by value or by norm, not both");
}

double regularization::norm_factor(double square_sum) const {
  const double norm = std::sqrt(square_sum);
  return clip_norm_ > 0 && norm > clip_norm_ ? clip_norm_ / norm : 1;
}

double regularization::penalty(std::span<const float> parameters, size_t offset) const {
  if (!penalizes())
    return 0;
  double total = 0;
  for_each_of(penalized_, offset, parameters.size(), [&](size_t begin, size_t end) {
    total += lane_sum<double>(end - begin, [&](size_t i) {
      const double p = parameters[begin + i];
      return l1_ * std::abs(p) + l2_ / 2.0 * p * p;
    });
  });
  return total;
}

void regularization::apply(std::span<float> gradient, const float* parameters, size_t offset,
                           float norm_factor) const {
  if (norm_factor != 1)
    scale_values(gradient.data(), norm_factor, gradient.data(), gradient.size());
  if (clip_value_ > 0)
    clip_values(gradient.data(), clip_value_, gradient.size());
  if (penalizes())
    for_each_of(penalized_, offset, gradient.size(), [&](size_t begin, size_t end) {
      add_penalties(gradient.data() + begin, parameters + begin, l1_, l2_, end - begin);
    });
}

void regularization::hold(std::span<float> next, const float* parameters, size_t offset) const {
  for_each_of(frozen_, offset, next.size(), [&](size_t begin, size_t end) {
    std::copy(parameters + begin, parameters + end,
              next.begin() + static_cast<std::ptrdiff_t>(begin));
  });
}

bool scale(std::span<const float> sum, float factor, std::span<float> out) {
  scale_values(sum.data(), factor, out.data(), sum.size());
  return all_finite(out.data(), sum.size());
}

double square_sum(std::span<const float> sum, float factor) {
  return sum_of_squares(sum.data(), factor, sum.size());
}

std::vector<double> square_sums_of_blocks(std::span<const float> gradient_sum, float factor) {
  std::vector<double> result;
  for (size_t begin = 0; begin < gradient_sum.size(); begin += norm_block_size)
    result.push_back(square_sum(
      gradient_sum.subspan(begin, std::min(norm_block_size, gradient_sum.size() - begin)), factor));
  return result;
}

} // namespace troupe
