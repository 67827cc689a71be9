// Dense layer on sparse rows: y = f(x W + b), and the gradient of W and b; without bias y = f(x W).
//
// What a row costs is its entries, not its features. The weight lies feature by feature, so an entry
// finds what it is multiplied with in one place: y += value W[feature], dW[feature] += value delta.
// Sums run over a row's entries in their order, and over rows in theirs.
//
// Shapes: R rows, I inputs, O outputs; weight W is I x O, bias b is O; all row-major and dense. There is
// no derivative with respect to the input: the rows are the model's.

#pragma once

#include "models/base/batch.hpp"
#include "models/layers/dense.hpp"

#include <span>

namespace troupe {

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
