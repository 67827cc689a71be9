#include "models/merging/delay_compensation.hpp"

#include "models/base/require.hpp"

#include <cmath>

namespace troupe {

namespace {

constexpr requirement require{"delay compensation"};

} // namespace

delay_compensation::delay_compensation(const delay_compensation_options& options)
  : options_(options) {
  require(options.lambda >= 0 && std::isfinite(options.lambda), "lambda must be 0 or more");
  require(options.decay >= 0 && options.decay < 1, "decay must be in [0, 1)");
  require(options.epsilon > 0 && std::isfinite(options.epsilon), "epsilon must be positive");
}

void delay_compensation::apply(std::span<float> gradient_sum, uint64_t sample_count,
                               std::span<const float> read, std::span<const float> current) {
  const auto size = gradient_sum.size();
  require(read.size() == size && current.size() == size,
          "the gradient has another size than the parameters");
  require(sample_count > 0, "a sum over no samples has no mean");
  if (options_.adaptive && mean_square_.size() != size)
    mean_square_.assign(size, 0);
  const auto samples = static_cast<double>(sample_count);
  for (size_t i = 0; i < size; ++i) {
    const double g = static_cast<double>(gradient_sum[i]) / samples;
    double lambda = options_.lambda;
    if (options_.adaptive) {
      mean_square_[i] = options_.decay * mean_square_[i] + (1 - options_.decay) * (g * g);
      lambda /= std::sqrt(mean_square_[i] + options_.epsilon);
    }
    const double moved = static_cast<double>(current[i]) - static_cast<double>(read[i]);
    if (moved != 0)
      gradient_sum[i] = static_cast<float>(samples * (g + lambda * g * g * moved));
  }
}

void delay_compensation::save(state_saver& out) const {
  if (options_.adaptive)
    out.copy(mean_square_); // zeros before the first gradient, as `apply` begins with
}

void delay_compensation::load(state_loader& in) {
  if (options_.adaptive)
    mean_square_ = in.doubles();
}

} // namespace troupe
