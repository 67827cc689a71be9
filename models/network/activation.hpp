// Activation functions: element-wise, applied in place to a layer's output. Most have a derivative
// that follows from the *output*, so that backward needs no copy of the input; for the others the
// layer keeps the input (`derivative_needs_input`).

#pragma once

#include "models/base/names.hpp"
#include "models/network/own_activation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Beside these, values that an application adds (models/kinds/added_tables.hpp).
enum class activation_kind : uint16_t {
  identity,
  relu,
  tanh,
  sigmoid,
  leaky_relu,
  elu,
  gelu,
  silu,
  softplus
};

template <>
struct name_table<activation_kind> {
  static constexpr std::array entries{named(activation_kind::identity, "identity"),
                                      named(activation_kind::relu, "relu"),
                                      named(activation_kind::leaky_relu, "leaky-relu"),
                                      named(activation_kind::elu, "elu"),
                                      named(activation_kind::gelu, "gelu"),
                                      named(activation_kind::silu, "silu"),
                                      named(activation_kind::softplus, "softplus"),
                                      named(activation_kind::tanh, "tanh"),
                                      named(activation_kind::sigmoid, "sigmoid")};
};

TROUPE_TAKES_ADDITIONS(activation_kind);

/// What stands behind a value that is added. Throws std::invalid_argument for others.
const own_activation& added_activation(activation_kind kind);

/// Whether f'(x) does not follow from f(x): gelu and silu fall and rise again below 0, added ones may.
constexpr bool derivative_needs_input(activation_kind kind) {
  return kind == activation_kind::gelu || kind == activation_kind::silu || is_added(kind);
}

/// Whether a function is 0 or nearly so on one side and a line on the other: about half of the
/// units are silent, which the initialisation "he" makes up for.
bool is_rectifier(activation_kind kind);

/// The activations of a network's hidden layers: one kind for all, or one for each.
class activation_list {
public:
  /// One kind for all layers: a kind is a list of one.
  activation_list(activation_kind kind) : kinds_{kind} {}
  activation_list(std::vector<activation_kind> kinds) : kinds_(std::move(kinds)) {}

  const std::vector<activation_kind>& kinds() const noexcept { return kinds_; }
  std::vector<activation_kind>& kinds() noexcept { return kinds_; }

  /// The kind of hidden layer `layer`. Throws std::out_of_range when the list has several kinds,
  /// but none for this layer.
  activation_kind of(size_t layer) const { return kinds_.at(kinds_.size() == 1 ? 0 : layer); }

  friend bool operator==(const activation_list&, const activation_list&) = default;

private:
  std::vector<activation_kind> kinds_;
};

/// y = f(y), element by element.
///
/// - identity:   y
/// - relu:       max(y, 0); a NaN stays NaN, -0 becomes +0
/// - leaky-relu: y above 0, else 0.01 y
/// - elu:        y above 0, else e^y - 1                         (Clevert et al. 2015)
/// - gelu:       y Phi(y), Phi the normal distribution function  (Hendrycks & Gimpel 2016)
/// - silu:       y / (1 + e^-y)                                  (Elfwing et al. 2017)
/// - softplus:   log(1 + e^y)
/// - tanh:       (e^2y - 1) / (e^2y + 1)
/// - sigmoid:    1 / (1 + e^-y)
void activate(activation_kind kind, std::span<float> values);

/// Adds `bias` (C) to each row of `values` (R x C, dense rows) and activates: one pass.
void add_bias_and_activate(activation_kind kind, std::span<const float> bias,
                           std::span<float> values);

/// delta = delta * f'(x), element by element. `kept` is the input x where
/// `derivative_needs_input(kind)`, else the output y = f(x). Sizes must be equal.
///
/// From the output: identity 1, relu [y > 0], leaky-relu 1 or 0.01, elu 1 or y + 1,
/// softplus 1 - e^-y, tanh 1 - y^2, sigmoid y (1 - y). From the input: gelu Phi(x) + x phi(x),
/// silu s + x s (1 - s) with s = sigmoid(x).
void multiply_by_derivative(activation_kind kind, std::span<const float> kept,
                            std::span<float> delta);

/// Where the derivative does not follow from the output, both at once: they share most of the work. The
/// layer then keeps the derivative itself for backward. `values` become f(values), `derivative` f'(values).
/// Throws std::invalid_argument for a kind with another derivative than one by the input
/// (`derivative_needs_input`), and for other sizes.
void activate_and_derive(activation_kind kind, std::span<float> values,
                         std::span<float> derivative);

} // namespace troupe
