// A dense layer and its activation, as layers of a chain use them: what backward cannot tell from the
// output, the derivative of the activation, is kept by forward.

#pragma once

#include "models/layers/dense.hpp"
#include "models/network/activation.hpp"
#include "models/network/dropout.hpp"

#include <span>

namespace troupe {

struct active_dense {
  dense_layer dense; ///< without an activation
  activation_kind activation = activation_kind::identity;

  bool keeps() const { return derivative_needs_input(activation); }

  /// `kept` (as y) is written if it `keeps` and is not empty.
  void forward(std::span<const float> parameters, std::span<const float> x, std::span<float> y,
               std::span<float> kept) const {
    if (keeps() && !kept.empty()) {
      dense.forward(parameters, x, y);
      activate_and_derive(activation, y, kept);
    } else {
      dense_layer{dense.inputs, dense.outputs, activation, dense.has_bias}.forward(parameters, x,
                                                                                   y);
    }
  }

  /// Takes dy before the activation.
  void derive(std::span<const float> y, std::span<const float> kept, std::span<float> dy) const {
    if (keeps())
      apply_mask(kept, dy, dy);
    else
      multiply_by_derivative(activation, y, dy);
  }
};

} // namespace troupe
