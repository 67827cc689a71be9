#include "models/whole_model/adafactor.hpp"

#include "models/math/elementary.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace troupe {

namespace {

// The paper's.
constexpr double decay_exponent = 0.8;
constexpr double scale_min = 1e-3;   ///< e2: the least scale of a tensor
constexpr double update_rms_max = 1; ///< d

template <class T>
double root_mean_square(const T* values, size_t count) {
  const double squares = lane_sum<double>(count, [values](size_t i) {
    const auto value = static_cast<double>(values[i]);
    return value * value;
  });
  return std::sqrt(squares / static_cast<double>(count));
}

/// Second moments of a tensor: row and column sums, or for one dimension all in `rows`.
struct moments {
  moments(const tensor_info& tensor, const optimizer_state& state)
    : is_factored(tensor.shape.size() > 1),
      rows(state.slot(0).subspan(tensor.offset, tensor.shape[0])),
      columns(state.slot(1).subspan(tensor.offset, is_factored ? tensor.size / rows.size() : 0)) {}

  bool is_factored;
  std::span<float> rows;
  std::span<float> columns;
};

/// The share of the old moments, and what keeps squares from being 0.
struct moment_constants {
  double decay;
  double epsilon;

  double square(double gradient) const { return gradient * gradient + epsilon; }
  float mix(float old, double now) const {
    return static_cast<float>(decay * old + (1 - decay) * now);
  }
};

void update_factors(const moments& kept, const double* gradient, const moment_constants& by) {
  const auto width = kept.columns.size();
  std::vector<double> sums(width);
  for (size_t r = 0; r < kept.rows.size(); ++r) {
    const double* row = gradient + r * width;
    kept.rows[r] =
      by.mix(kept.rows[r], lane_sum<double>(width, [&](size_t c) { return by.square(row[c]); }));
    for (size_t c = 0; c < width; ++c)
      sums[c] += by.square(row[c]);
  }
  for (size_t c = 0; c < width; ++c)
    kept.columns[c] = by.mix(kept.columns[c], sums[c]);
}

void update_moments(const moments& kept, const double* gradient, const moment_constants& by) {
  if (kept.is_factored)
    return update_factors(kept, gradient, by);
  for (size_t i = 0; i < kept.rows.size(); ++i)
    kept.rows[i] = by.mix(kept.rows[i], by.square(gradient[i]));
}

/// Turns the gradient into the update U, before its clipping.
void precondition(const moments& kept, double* gradient) {
  if (!kept.is_factored) {
    for (size_t i = 0; i < kept.rows.size(); ++i)
      gradient[i] /= std::sqrt(static_cast<double>(kept.rows[i]));
    return;
  }
  const auto width = kept.columns.size();
  const double total =
    lane_sum<double>(kept.rows.size(), [&](size_t r) { return double{kept.rows[r]}; });
  for (size_t r = 0; r < kept.rows.size(); ++r)
    for (size_t c = 0; c < width; ++c)
      // Divided first: a product of two tiny moments would be 0.
      gradient[r * width + c] /= std::sqrt(kept.rows[r] / total * kept.columns[c]);
}

} // namespace

adafactor::adafactor(const optimizer_options& options, parameter_layout layout)
  : whole_model_rule(options, optimizer_kind::adafactor), layout_(std::move(layout)) {}

optimizer_state adafactor::start(std::span<const float> parameters) const {
  return {2, parameters.size()};
}

std::optional<batch_sums> adafactor::update(const whole_model_update& x,
                                            optimizer_state& state) const {
  if (!x.is_finite)
    return std::nullopt;
  const auto count = static_cast<double>(x.step + 1);
  const moment_constants by{1 - elementary::pow(count, -decay_exponent), *options().epsilon};
  const double rate = std::min(
    *options().learning_rate * schedule_factor(options().schedule, x.step), 1 / std::sqrt(count));
  std::vector<double> work;
  for (const auto& tensor : layout_.tensors()) {
    const auto gradient = x.gradient.subspan(tensor.offset, tensor.size);
    const auto old = x.parameters.subspan(tensor.offset, tensor.size);
    const moments kept{tensor, state};
    work.assign(gradient.begin(), gradient.end());
    update_moments(kept, work.data(), by);
    precondition(kept, work.data());
    const double scale = std::max(scale_min, root_mean_square(old.data(), tensor.size));
    const double clip = std::max(1.0, root_mean_square(work.data(), tensor.size) / update_rms_max);
    for (size_t i = 0; i < tensor.size; ++i)
      x.next[tensor.offset + i] = static_cast<float>(old[i] - scale * rate / clip * work[i]);
  }
  // A moment beyond a float's range makes its updates 0 for ever: it would look like the end.
  const bool finite = all_finite(x.next.data(), x.next.size()) &&
                      all_finite(state.slot(0).data(), state.slot(0).size()) &&
                      all_finite(state.slot(1).data(), state.slot(1).size());
  return finite ? std::optional{x.sums} : std::nullopt;
}

} // namespace troupe
