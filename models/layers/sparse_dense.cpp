#include "models/layers/sparse_dense.hpp"

#include "models/base/multiversion.hpp"
#include "models/base/require.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr size_check require_size{"sparse layer"};

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
  require_size("parameters", shape.parameter_count(), parameters.size());
  require_size("outputs", x.row_count() * outputs, y.size());
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
  require_size("gradients", shape.parameter_count(), gradient_out.size());
  require_size("deltas", x.row_count() * outputs, delta.size());
  if (outputs == 1)
    add_outer_of_one(x, delta.data(), gradient_out.data());
  for (size_t i = 0; i < x.row_count() && outputs > 1; ++i)
    add_outer_of_row(entries_of(x, i), delta.data() + i * outputs, gradient_out.data(), outputs);
  if (shape.has_bias)
    add_column_sums(delta, gradient_out.subspan(shape.inputs * outputs));
}

} // namespace troupe
