#include "models/layers/dense.hpp"

#include "models/base/multiversion.hpp"
#include "models/base/require.hpp"
#include "models/device/device_queue.hpp"
#include "models/layers/single_output.hpp"
#include "models/math/lanes.hpp"
#include "models/math/moves.hpp"
#include "models/math/products.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace troupe {

using products::matrix_of, products::result_of;

namespace {

constexpr size_check require_size{"dense layer"};

size_t row_count(const char* what, size_t size, size_t columns) {
  if (columns == 0 || size % columns != 0)
    throw std::invalid_argument(std::string{"dense layer: "} + std::to_string(size) + " " + what +
                                " are no whole number of rows of " + std::to_string(columns));
  return size / columns;
}

TROUPE_MULTIVERSION void add_columns(const float* __restrict values, float* __restrict sums,
                                     size_t rows, size_t columns) {
  if (columns == 1) {
    sums[0] += lane_sum<float>(rows, [=](size_t i) { return values[i]; });
    return;
  }
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      sums[j] += values[i * columns + j];
}

} // namespace

void add_column_sums(std::span<const float> values, std::span<float> sums) {
  const auto rows = row_count("values", values.size(), sums.size());
  if (auto* const device = device_of(sums))
    return device->run("add_column_sums", sums.size(), {values, sums, rows});
  add_columns(values.data(), sums.data(), rows, sums.size());
}

void sum_columns(std::span<const float> values, std::span<float> sums) {
  fill_values(sums, 0);
  add_column_sums(values, sums);
}

void dense_layer::forward(std::span<const float> parameters, std::span<const float> x,
                          std::span<float> y, std::span<float> before) const {
  require_size("parameters", parameter_count(), parameters.size());
  const auto rows = row_count("inputs", x.size(), inputs);
  require_size("outputs", rows * outputs, y.size());
  if (outputs == 1)
    single_output_forward(parameters.first(inputs), x, y);
  else
    products::multiply(matrix_of(x.data(), rows, inputs),
                       matrix_of(parameters.data(), outputs, inputs).transposed(),
                       result_of(y.data(), rows, outputs));
  const auto bias = parameters.subspan(outputs * inputs);
  if (derivative_needs_input(activation) && !before.empty()) {
    require_size("values before the activation", y.size(), before.size());
    if (has_bias)
      add_bias_and_activate(activation_kind::identity, bias, y);
    copy_floats(y, before);
    activate(activation, y);
  } else if (has_bias) {
    add_bias_and_activate(activation, bias, y);
  } else {
    activate(activation, y);
  }
}

void dense_layer::gradient(std::span<const float> x, std::span<const float> delta,
                           std::span<float> gradient_out) const {
  require_size("gradients", parameter_count(), gradient_out.size());
  const auto rows = row_count("inputs", x.size(), inputs);
  require_size("deltas", rows * outputs, delta.size());
  if (outputs == 1) {
    fill_values(gradient_out, 0);
    return add_single_gradient(x, delta, gradient_out);
  }
  products::multiply(matrix_of(delta.data(), rows, outputs).transposed(),
                     matrix_of(x.data(), rows, inputs),
                     result_of(gradient_out.data(), outputs, inputs));
  if (has_bias)
    sum_columns(delta, gradient_out.subspan(outputs * inputs));
}

void dense_layer::add_single_gradient(std::span<const float> x, std::span<const float> delta,
                                      std::span<float> gradient_out) const {
  add_single_output_gradient(x, delta, gradient_out.first(inputs));
  if (has_bias)
    add_column_sums(delta, gradient_out.subspan(inputs));
}

void dense_layer::backward(std::span<const float> parameters, std::span<const float> delta,
                           std::span<float> dx) const {
  require_size("parameters", parameter_count(), parameters.size());
  const auto rows = row_count("deltas", delta.size(), outputs);
  require_size("input derivatives", rows * inputs, dx.size());
  products::multiply(matrix_of(delta.data(), rows, outputs),
                     matrix_of(parameters.data(), outputs, inputs),
                     result_of(dx.data(), rows, inputs));
}

namespace {

constexpr size_check require_sparse_size{"sparse layer"};

/// One output: a sum over each row's entries. Several sums a row were slower: rows of some tens of
/// entries overlap in the processor as they are.
void multiply_by_one(const float* weight, const sparse_rows& x, float* y) {
  for (size_t i = 0; i < x.row_count(); ++i) {
    float sum = 0;
    for (auto e = x.begins[i]; e < x.ends[i]; ++e)
      sum += x.values[e] * weight[x.features[e]];
    y[i] = sum;
  }
}

void add_outer_of_one(const sparse_rows& x, const float* delta, float* gradient) {
  for (size_t i = 0; i < x.row_count(); ++i)
    for (auto e = x.begins[i]; e < x.ends[i]; ++e)
      gradient[x.features[e]] += x.values[e] * delta[i];
}

/// A row's entries, and where they are found.
struct entries {
  const uint32_t* features;
  const float* values;
  size_t count;
};

/// y (O) = the sum of value W[feature].
TROUPE_MULTIVERSION void multiply_row(const float* weight, entries x, float* __restrict y,
                                      size_t outputs) {
  for (size_t k = 0; k < outputs; ++k)
    y[k] = 0;
  for (size_t e = 0; e < x.count; ++e) {
    const float value = x.values[e];
    const float* __restrict from = weight + size_t{x.features[e]} * outputs;
    for (size_t k = 0; k < outputs; ++k)
      y[k] += value * from[k];
  }
}

/// dW[feature] += value delta, for each entry.
TROUPE_MULTIVERSION void add_outer_of_row(entries x, const float* __restrict delta, float* gradient,
                                          size_t outputs) {
  for (size_t e = 0; e < x.count; ++e) {
    const float value = x.values[e];
    float* __restrict to = gradient + size_t{x.features[e]} * outputs;
    for (size_t k = 0; k < outputs; ++k)
      to[k] += value * delta[k];
  }
}

entries entries_of(const sparse_rows& x, size_t i) {
  return {x.features + x.begins[i], x.values + x.begins[i],
          static_cast<size_t>(x.ends[i] - x.begins[i])};
}

} // namespace

void sparse_dense_layer::forward(std::span<const float> parameters, const sparse_rows& x,
                                 std::span<float> y) const {
  const auto outputs = shape.outputs;
  require_sparse_size("parameters", shape.parameter_count(), parameters.size());
  require_sparse_size("outputs", x.row_count() * outputs, y.size());
  if (outputs == 1)
    multiply_by_one(parameters.data(), x, y.data());
  for (size_t i = 0; i < x.row_count() && outputs > 1; ++i)
    multiply_row(parameters.data(), entries_of(x, i), y.data() + i * outputs, outputs);
  if (shape.has_bias)
    add_bias_and_activate(shape.activation, parameters.subspan(shape.inputs * outputs), y);
  else
    activate(shape.activation, y);
}

void sparse_dense_layer::gradient(const sparse_rows& x, std::span<const float> delta,
                                  std::span<float> gradient_out) const {
  std::ranges::fill(gradient_out, 0.0f);
  add_gradient(x, delta, gradient_out);
}

void sparse_dense_layer::add_gradient(const sparse_rows& x, std::span<const float> delta,
                                      std::span<float> gradient_out) const {
  const auto outputs = shape.outputs;
  require_sparse_size("gradients", shape.parameter_count(), gradient_out.size());
  require_sparse_size("deltas", x.row_count() * outputs, delta.size());
  if (outputs == 1)
    add_outer_of_one(x, delta.data(), gradient_out.data());
  for (size_t i = 0; i < x.row_count() && outputs > 1; ++i)
    add_outer_of_row(entries_of(x, i), delta.data() + i * outputs, gradient_out.data(), outputs);
  if (shape.has_bias)
    add_column_sums(delta, gradient_out.subspan(shape.inputs * outputs));
}

} // namespace troupe
