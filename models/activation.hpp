// Activation functions: element-wise, applied in place to a layer's output, with the derivative
// expressed through the *output* so that backward needs no copy of the input.

#pragma once

#include "troupe/models/names.hpp"

#include <cstdint>
#include <span>

namespace troupe {

enum class activation_kind : uint8_t { identity, relu, tanh, sigmoid };

template <>
struct name_table<activation_kind> {
  static constexpr std::array entries{
    named(activation_kind::identity, "identity"), named(activation_kind::relu, "relu"),
    named(activation_kind::tanh, "tanh"), named(activation_kind::sigmoid, "sigmoid")};
};

/// y = f(y), element by element.
///
/// - identity: y
/// - relu:     max(y, 0); a NaN stays NaN, -0 becomes +0
/// - tanh:     (e^2y - 1) / (e^2y + 1)
/// - sigmoid:  1 / (1 + e^-y)
void activate(activation_kind kind, std::span<float> values);

/// Adds `bias` (C) to each row of `values` (R x C, dense rows) and activates: one pass.
void add_bias_and_activate(activation_kind kind, std::span<const float> bias,
                           std::span<float> values);

/// delta = delta * f'(x), with f' computed from the output y = f(x):
/// identity 1, relu [y > 0], tanh 1 - y^2, sigmoid y (1 - y). Sizes must be equal.
void multiply_by_derivative(activation_kind kind, std::span<const float> outputs,
                            std::span<float> delta);

} // namespace troupe
