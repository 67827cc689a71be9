// The options of a chain's layers, and the functions that make layers of them.
// models/kinds/chain_kind.hpp has their names in jobs, docs/layers.md their arithmetic. Each throws
// std::invalid_argument, with why, for rows whose shape it does not take.

#pragma once

#include "models/layers/layer.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// What a layer is made for.
struct layer_input {
  row_shape shape; ///< of a row; every extent >= 1
};

/// y = f(x W^T + b). Of rows {positions, width} it maps each position by itself, unless it flattens;
/// other rows are one vector.
struct dense_options {
  size_t units = 1;
  std::string activation = "identity";
  bool bias = true;
  bool flatten = false;
  std::string initialization = "he";
};
std::unique_ptr<layer> make_dense(const dense_options& x, const layer_input& input);

struct activation_options {
  std::string function = "relu";
};
std::unique_ptr<layer> make_activation(const activation_options& x, const layer_input& input);

/// y = factor x + offset: pixels from 0 to 255 to numbers from 0 to 1, say.
struct scale_options {
  double factor = 1;
  double offset = 0;
};
std::unique_ptr<layer> make_scale(const scale_options& x, const layer_input& input);

/// Drops values in training alone; which ones depends on seed, step, layer, row and value.
struct dropout_options {
  double rate = 0.5;
};
std::unique_ptr<layer> make_dropout(const dropout_options& x, const layer_input& input);

/// Of rows {height, width, channels}: weight [channels out, kernel height, kernel width, channels in].
/// `same`: as many positions as in, divided by the stride and rounded up; the odd zero is behind.
struct convolution_options {
  size_t channels = 1;
  std::vector<size_t> kernel = {3, 3};
  size_t stride = 1;
  std::string padding = "valid";
  std::string activation = "identity";
  bool bias = true;
  std::string initialization = "he";
};
std::unique_ptr<layer> make_convolution(const convolution_options& x, const layer_input& input);

/// Of rows {height, width, channels} or {positions, width}, channel by channel: windows that lie within.
struct pool_options {
  std::string over = "max"; ///< or mean, or last: the last place of each window
  size_t size = 0;          ///< 0: one window with all positions, whose shape is {channels}
  size_t stride = 0;        ///< 0: the size
};
std::unique_ptr<layer> make_pool(const pool_options& x, const layer_input& input);

/// Of rows of codes 0 .. categories - 1: {positions, width}. Whatever else a code is, it is the row for
/// what was not seen. Table [categories + 1, width].
struct embedding_options {
  size_t categories = 1;
  size_t width = 1;
  double scale = 0.02; ///< deviation of the initial values
};
std::unique_ptr<layer> make_embedding(const embedding_options& x, const layer_input& input);

/// Adds a learned vector to each position of rows {positions, width}.
struct positions_options {
  double scale = 0.02; ///< deviation of the initial values
};
std::unique_ptr<layer> make_positions(const positions_options& x, const layer_input& input);

/// (x - mean) / sqrt(variance + epsilon) weight + bias, over the last extent (Ba et al. 2016).
struct layer_norm_options {
  double epsilon = 1e-5;
};
std::unique_ptr<layer> make_layer_norm(const layer_norm_options& x, const layer_input& input);

/// Of rows {positions, width}: softmax(Q K^T / sqrt(width / heads)) V by heads, and a projection of them
/// (Vaswani et al. 2017). Causal: a position sees itself and those before it.
struct attention_options {
  size_t heads = 1;
  bool causal = false;
  std::string initialization = "xavier";
};
std::unique_ptr<layer> make_attention(const attention_options& x, const layer_input& input);

// Lengths of short lines of values, such as the channels of a place: known when the program is compiled,
// they are copied without a loop.

namespace detail {

template <class Use, size_t... usual>
void with_length(size_t length, const Use& use, std::index_sequence<usual...>) {
  const bool is_usual =
    ((length == usual && (use(std::integral_constant<size_t, usual>{}), true)) || ...);
  if (!is_usual)
    use(length);
}

} // namespace detail

/// Calls use(length) once, with a std::integral_constant where it is a usual one: the channels of images and
/// of small networks, and lines of their kernels.
template <class Use>
void with_length(size_t length, const Use& use) {
  detail::with_length(length, use,
                      std::index_sequence<1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 18, 24, 30, 32>{});
}

} // namespace troupe
