// Dense layer: y = f(x W^T + b), and its backward pass; without bias y = f(x W^T).
//
// Shapes: R rows, I inputs, O outputs; weight W is O x I, bias b is O; all row-major and dense.
// A layer is a description; parameters, activations and gradients are the caller's memory.

#pragma once

#include "models/base/batch.hpp"
#include "models/network/activation.hpp"
#include "models/network/dropout.hpp"

#include <cstddef>
#include <span>

namespace troupe {

struct dense_layer {
  size_t inputs = 0;
  size_t outputs = 0;
  activation_kind activation = activation_kind::identity;
  bool has_bias = true;

  /// Elements of weight and bias together: the layer's span of the parameter buffer holds the
  /// weight (O x I), then the bias (O) if there is one.
  size_t parameter_count() const { return outputs * inputs + (has_bias ? outputs : 0); }

  /// y (R x O) from x (R x I). `before` (R x O) receives what the activation was applied to if
  /// its derivative needs that (`derivative_needs_input`); it is not touched otherwise, nor when
  /// it is empty.
  void forward(std::span<const float> parameters, std::span<const float> x, std::span<float> y,
               std::span<float> before = {}) const;

  /// Gradient of the layer's parameters, written (not added): dW = delta^T x, db = column sums of
  /// delta (no db without a bias), with delta (R x O) the derivative before the activation, x (R x
  /// I) forward's input.
  void gradient(std::span<const float> x, std::span<const float> delta,
                std::span<float> gradient_out) const;

  /// The same, added to `gradient_out`; for a layer of one output.
  void add_single_gradient(std::span<const float> x, std::span<const float> delta,
                           std::span<float> gradient_out) const;

  /// Derivative with respect to the input: dx = delta W (R x I).
  void backward(std::span<const float> parameters, std::span<const float> delta,
                std::span<float> dx) const;
};

/// Adds the columns of `values` (R x O) to `sums` (O), each from the first row on.
void add_column_sums(std::span<const float> values, std::span<float> sums);

/// sums (O) = the columns of `values` (R x O), each added from the first row on.
void sum_columns(std::span<const float> values, std::span<float> sums);

/// A dense layer and its activation, as layers of a chain use them: forward keeps the activation's
/// derivative where backward cannot compute it from the output.
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

// Dense layer on sparse rows: y = f(x W + b), and the gradient of W and b; without bias y = f(x W).
//
// What a row costs is its entries, not its features. The weight lies feature by feature, so an entry
// finds what it is multiplied with in one place: y += value W[feature], dW[feature] += value delta.
// Sums run over a row's entries in their order, and over rows in theirs.
//
// Shapes: R rows, I inputs, O outputs; weight W is I x O, bias b is O; all row-major and dense. There is
// no derivative with respect to the input: the rows are the model's.

struct sparse_dense_layer {
  dense_layer shape; ///< inputs, outputs, activation, bias; its parameters lie as said above

  /// y (R x O) from R rows.
  void forward(std::span<const float> parameters, const sparse_rows& x, std::span<float> y) const;

  /// Gradient of the layer's parameters, written (not added): dW = x^T delta, db = column sums of delta
  /// (R x O), the derivative before the activation.
  void gradient(const sparse_rows& x, std::span<const float> delta,
                std::span<float> gradient_out) const;

  /// The same, added to `gradient_out`.
  void add_gradient(const sparse_rows& x, std::span<const float> delta,
                    std::span<float> gradient_out) const;
};

} // namespace troupe
