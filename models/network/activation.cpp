#include "models/network/activation.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/multiversion.hpp"
#include "models/device/device_queue.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

namespace {

using namespace elementary;

#include "models/shared/activations.hpp"

#define TROUPE_FUNCTION(name)                                                                      \
  struct name##_function {                                                                         \
    TROUPE_ALWAYS_INLINE static float value(float y) { return name##_value(y); }                   \
    TROUPE_ALWAYS_INLINE static float derivative(float y) { return name##_derivative(y); }         \
  };
TROUPE_ACTIVATIONS(TROUPE_FUNCTION)
#undef TROUPE_FUNCTION

// Calls `use` with the function object of `kind`.
template <class Use>
TROUPE_ALWAYS_INLINE void with_function(activation_kind kind, Use use) {
#define TROUPE_CASE(name)                                                                          \
  case activation_kind::name:                                                                      \
    return use(name##_function{});
  switch (kind) { TROUPE_ACTIVATIONS(TROUPE_CASE) }
#undef TROUPE_CASE
  throw std::invalid_argument("activation: unknown kind");
}

TROUPE_MULTIVERSION void activate_values(activation_kind kind, float* __restrict y, size_t count) {
  with_function(
    kind, [=](auto function) __attribute__((always_inline)) {
      for (size_t i = 0; i < count; ++i)
        y[i] = function.value(y[i]);
    });
}

TROUPE_MULTIVERSION void add_bias_to_rows(activation_kind kind, const float* __restrict bias,
                                          float* __restrict values, size_t rows, size_t columns) {
  with_function(
    kind, [=](auto function) __attribute__((always_inline)) {
      const float only = bias[0];
      for (size_t i = 0; columns == 1 && i < rows; ++i)
        values[i] = function.value(values[i] + only);
      for (size_t i = 0; columns > 1 && i < rows; ++i) {
        float* const __restrict y = values + i * columns;
#pragma GCC ivdep
        for (size_t j = 0; j < columns; ++j)
          y[j] = function.value(y[j] + bias[j]);
      }
    });
}

TROUPE_MULTIVERSION void multiply_values(activation_kind kind, const float* __restrict y,
                                         float* __restrict delta, size_t count) {
  with_function(
    kind, [=](auto function) __attribute__((always_inline)) {
#pragma GCC ivdep
      for (size_t i = 0; i < count; ++i)
        delta[i] *= function.derivative(y[i]);
    });
}

/// As kernels count kinds.
uint64_t number_of(activation_kind kind) {
  return static_cast<uint64_t>(kind);
}

/// Elements that an added kind computes at once, in memory of the stack.
constexpr size_t block_size = 256;

/// Calls `use` with the values of each block and what the kind makes of them.
template <class Use>
void for_blocks(activation_kind kind, std::span<const float> x, bool derives, Use use) {
  const auto& made = added_activation(kind);
  std::array<float, block_size> copied, value, slope;
  for (size_t begin = 0; begin < x.size(); begin += block_size) {
    const auto count = std::min(block_size, x.size() - begin);
    copy_values(x.subspan(begin, count), copied.begin());
    const auto slopes = std::span{slope}.first(derives ? count : 0);
    made.evaluate(std::span{copied}.first(count), std::span{value}.first(count), slopes);
    use(begin, std::span<const float>{value}.first(count), std::span<const float>{slopes});
  }
}

} // namespace

void activate(activation_kind kind, std::span<float> values) {
  if (auto* const device = device_of(values)) {
    if (is_added(kind))
      return device->on_processor(values, [=](auto copy) { activate(kind, copy); });
    return device->run("activate", values.size(), {values, number_of(kind)});
  }
  if (is_added(kind))
    return for_blocks(kind, values, false, [&](size_t begin, auto value, auto) {
      copy_values(value, values.begin() + static_cast<std::ptrdiff_t>(begin));
    });
  activate_values(kind, values.data(), values.size());
}

void add_bias_and_activate(activation_kind kind, std::span<const float> bias,
                           std::span<float> values) {
  if (bias.empty() || values.size() % bias.size() != 0)
    throw std::invalid_argument("bias: " + std::to_string(values.size()) +
                                " values are no whole number of rows of " +
                                std::to_string(bias.size()));
  if (is_added(kind)) {
    add_bias_and_activate(activation_kind::identity, bias, values);
    return activate(kind, values);
  }
  if (auto* const device = device_of(values))
    return device->run("add_bias", values.size(), {bias, values, bias.size(), number_of(kind)});
  add_bias_to_rows(kind, bias.data(), values.data(), values.size() / bias.size(), bias.size());
}

void multiply_by_derivative(activation_kind kind, std::span<const float> kept,
                            std::span<float> delta) {
  if (kept.size() != delta.size())
    throw std::invalid_argument("activation derivative: " + std::to_string(kept.size()) +
                                " values kept but " + std::to_string(delta.size()) + " deltas");
  if (auto* const device = device_of(delta)) {
    if (is_added(kind))
      return device->on_processor(
        delta, [&](auto copy) { multiply_by_derivative(kind, device->copy_of(kept), copy); });
    return device->run("multiply_by_derivative", delta.size(), {kept, delta, number_of(kind)});
  }
  if (is_added(kind))
    return for_blocks(kind, kept, true, [&](size_t begin, auto, auto slope) {
      for (size_t i = 0; i < slope.size(); ++i)
        delta[begin + i] *= slope[i];
    });
  multiply_values(kind, kept.data(), delta.data(), delta.size());
}

namespace {

TROUPE_MULTIVERSION void compute_gelu(float* __restrict y, float* __restrict derivative,
                                      size_t count) {
  for (size_t i = 0; i < count; ++i)
    gelu_pair(y[i], y + i, derivative + i);
}

TROUPE_MULTIVERSION void compute_silu(float* __restrict y, float* __restrict derivative,
                                      size_t count) {
  for (size_t i = 0; i < count; ++i)
    silu_pair(y[i], y + i, derivative + i);
}

} // namespace

void activate_and_derive(activation_kind kind, std::span<float> values,
                         std::span<float> derivative) {
  if (!derivative_needs_input(kind) || values.size() != derivative.size())
    throw std::invalid_argument("activation: of this kind the derivative follows from the output");
  if (auto* const device = device_of(values)) {
    if (!is_added(kind))
      return device->run("activate_and_derive", values.size(),
                         {values, derivative, uint64_t{kind == activation_kind::gelu}});
    return device->on_processor(values, [&](auto copy) {
      std::vector<float> slopes(copy.size());
      activate_and_derive(kind, copy, slopes);
      device->upload(slopes, derivative);
    });
  }
  if (is_added(kind))
    return for_blocks(kind, values, true, [&](size_t begin, auto value, auto slope) {
      copy_values(value, values.begin() + static_cast<std::ptrdiff_t>(begin));
      copy_values(slope, derivative.begin() + static_cast<std::ptrdiff_t>(begin));
    });
  if (kind == activation_kind::gelu)
    compute_gelu(values.data(), derivative.data(), values.size());
  else
    compute_silu(values.data(), derivative.data(), values.size());
}

} // namespace troupe
