#include "troupe/models/optimizers/adafactor.hpp"

#include "troupe/models/elementary.hpp"
#include "troupe/models/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

void require(bool holds, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{"adafactor: "} + what);
}

template <class T>
double root_mean_square(const T* values, size_t count) {
  const double squares = lane_sum<double>(count, [values](size_t i) {
    const auto value = static_cast<double>(values[i]);
    return value * value;
  });
  return std::sqrt(squares / static_cast<double>(count));
}

} // namespace

adafactor::adafactor(const adafactor_options& options, parameter_layout layout)
  : options_(options), layout_(std::move(layout)) {
  require(!options.learning_rate || *options.learning_rate > 0, "learning_rate must be positive");
  require(options.epsilon1 > 0 && options.epsilon2 > 0, "both epsilons must be positive");
  require(options.threshold > 0, "threshold must be positive");
  require(options.decay_exponent > 0 && options.decay_exponent <= 1,
          "decay_exponent must be in (0, 1]");
  size_t largest = 0;
  for (const auto& tensor : layout_.tensors()) {
    moments kept;
    kept.row_count = tensor.shape[0];
    kept.column_count = tensor.shape.size() == 1 ? 0 : tensor.size / tensor.shape[0];
    kept.rows.resize(kept.row_count);
    kept.columns.resize(kept.column_count);
    kept_.push_back(std::move(kept));
    largest = std::max(largest, tensor.size);
  }
  work_.resize(largest);
}

bool adafactor::step(std::span<const float> gradient_sum, uint64_t sample_count,
                     std::span<float> parameters) {
  require(gradient_sum.size() == layout_.size() && parameters.size() == layout_.size(),
          "gradient or parameters are not of the layout's size");
  require(sample_count > 0, "a gradient over no samples has no mean");
  if (!all_finite(gradient_sum.data(), gradient_sum.size()))
    return false;
  ++step_count_;
  const double decay =
    1 - elementary::pow(static_cast<double>(step_count_), -options_.decay_exponent);
  for (size_t k = 0; k < kept_.size(); ++k) {
    const auto& tensor = layout_.tensors()[k];
    for (size_t i = 0; i < tensor.size; ++i)
      work_[i] = gradient_sum[tensor.offset + i] / static_cast<double>(sample_count);
    update_moments(kept_[k], work_.data(), decay);
    precondition(kept_[k], work_.data());
    const auto values = parameters.subspan(tensor.offset, tensor.size);
    const double clip =
      std::max(1.0, root_mean_square(work_.data(), tensor.size) / options_.threshold);
    const double factor = rate(values) / clip;
    for (size_t i = 0; i < tensor.size; ++i)
      values[i] = static_cast<float>(values[i] - factor * work_[i]);
  }
  return true;
}

void adafactor::update_moments(moments& kept, const double* gradient, double decay) const {
  const auto square = [&](size_t i) { return gradient[i] * gradient[i] + options_.epsilon1; };
  const auto mix = [decay](double old, double now) { return decay * old + (1 - decay) * now; };
  if (kept.column_count == 0) {
    for (size_t i = 0; i < kept.row_count; ++i)
      kept.rows[i] = mix(kept.rows[i], square(i));
    return;
  }
  for (auto& column : kept.columns)
    column *= decay;
  for (size_t r = 0; r < kept.row_count; ++r) {
    const size_t begin = r * kept.column_count;
    const double sum =
      lane_sum<double>(kept.column_count, [&](size_t c) { return square(begin + c); });
    kept.rows[r] = mix(kept.rows[r], sum);
    for (size_t c = 0; c < kept.column_count; ++c)
      kept.columns[c] += (1 - decay) * square(begin + c);
  }
}

void adafactor::precondition(const moments& kept, double* gradient) const {
  if (kept.column_count == 0) {
    for (size_t i = 0; i < kept.row_count; ++i)
      gradient[i] /= std::sqrt(kept.rows[i]);
    return;
  }
  const double total = lane_sum<double>(kept.row_count, [&](size_t r) { return kept.rows[r]; });
  for (size_t r = 0; r < kept.row_count; ++r)
    for (size_t c = 0; c < kept.column_count; ++c)
      // Divided first: a product of two tiny moments would be 0.
      gradient[r * kept.column_count + c] /= std::sqrt(kept.rows[r] / total * kept.columns[c]);
}

double adafactor::rate(std::span<const float> tensor) const {
  const double scale = std::max(options_.epsilon2, root_mean_square(tensor.data(), tensor.size()));
  const double relative = std::min(0.01, 1 / std::sqrt(static_cast<double>(step_count_)));
  return scale * options_.learning_rate.value_or(relative);
}

} // namespace troupe
