#include "models/network/activation.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/multiversion.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

struct identity_function {
  TROUPE_ALWAYS_INLINE static float value(float y) { return y; }
  TROUPE_ALWAYS_INLINE static float derivative(float) { return 1; }
};

struct relu_function {
  // Written so that NaN compares into the first branch and stays.
  TROUPE_ALWAYS_INLINE static float value(float y) { return y <= 0 ? 0.0f : y; }
  TROUPE_ALWAYS_INLINE static float derivative(float y) { return y > 0 ? 1.0f : 0.0f; }
};

struct tanh_function {
  TROUPE_ALWAYS_INLINE static float value(float y) { return elementary::tanh(y); }
  TROUPE_ALWAYS_INLINE static float derivative(float y) { return 1 - y * y; }
};

struct sigmoid_function {
  TROUPE_ALWAYS_INLINE static float value(float y) { return elementary::sigmoid(y); }
  TROUPE_ALWAYS_INLINE static float derivative(float y) { return y * (1 - y); }
};

struct leaky_relu_function {
  TROUPE_ALWAYS_INLINE static float value(float y) { return y > 0 ? y : leaky_relu_slope * y; }
  TROUPE_ALWAYS_INLINE static float derivative(float y) { return y > 0 ? 1.0f : leaky_relu_slope; }
};

struct elu_function {
  TROUPE_ALWAYS_INLINE static float value(float y) {
    const float below = elementary::expm1(y); // computed for all: a branch would not vectorise
    return y > 0 ? y : below;
  }
  TROUPE_ALWAYS_INLINE static float derivative(float y) { return y > 0 ? 1.0f : y + 1; }
};

struct softplus_function {
  TROUPE_ALWAYS_INLINE static float value(float y) {
    return static_cast<float>(elementary::softplus(static_cast<double>(y)));
  }
  TROUPE_ALWAYS_INLINE static float derivative(float y) { return -elementary::expm1(-y); }
};

// The derivatives of these two take the input.
struct gelu_function {
  TROUPE_ALWAYS_INLINE static float value(float x) {
    return static_cast<float>(x * elementary::normal_cdf(static_cast<double>(x)));
  }
  TROUPE_ALWAYS_INLINE static float derivative(float x) {
    const double d = x;
    return static_cast<float>(elementary::normal_cdf(d) + d * elementary::normal_density(d));
  }
};

struct silu_function {
  TROUPE_ALWAYS_INLINE static float value(float x) {
    return static_cast<float>(x * elementary::sigmoid_for_float(static_cast<double>(x)));
  }
  TROUPE_ALWAYS_INLINE static float derivative(float x) {
    const double s = elementary::sigmoid_for_float(static_cast<double>(x));
    return static_cast<float>(s + x * s * (1 - s));
  }
};

// Calls `use` with the function object of `kind`: the one place that lists them all.
template <class Use>
TROUPE_ALWAYS_INLINE void with_function(activation_kind kind, Use use) {
  switch (kind) {
  case activation_kind::identity:
    return use(identity_function{});
  case activation_kind::relu:
    return use(relu_function{});
  case activation_kind::tanh:
    return use(tanh_function{});
  case activation_kind::sigmoid:
    return use(sigmoid_function{});
  case activation_kind::leaky_relu:
    return use(leaky_relu_function{});
  case activation_kind::elu:
    return use(elu_function{});
  case activation_kind::gelu:
    return use(gelu_function{});
  case activation_kind::silu:
    return use(silu_function{});
  case activation_kind::softplus:
    return use(softplus_function{});
  }
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
  add_bias_to_rows(kind, bias.data(), values.data(), values.size() / bias.size(), bias.size());
}

void multiply_by_derivative(activation_kind kind, std::span<const float> kept,
                            std::span<float> delta) {
  if (kept.size() != delta.size())
    throw std::invalid_argument("activation derivative: " + std::to_string(kept.size()) +
                                " values kept but " + std::to_string(delta.size()) + " deltas");
  if (is_added(kind))
    return for_blocks(kind, kept, true, [&](size_t begin, auto, auto slope) {
      for (size_t i = 0; i < slope.size(); ++i)
        delta[begin + i] *= slope[i];
    });
  multiply_values(kind, kept.data(), delta.data(), delta.size());
}

namespace {

struct gelu_pair {
  TROUPE_ALWAYS_INLINE static void compute(float x, float& y, float& derivative) {
    const double d = x;
    const double magnitude = elementary::clamped(d < 0 ? -d : d, 0, 37);
    const double bell = elementary::exp_for_float(-0.5 * magnitude * magnitude);
    const double tail =
      0.5 * bell * elementary::erfcx(magnitude * 0x1.6a09e667f3bcdp-1); // 1 / sqrt(2)
    const double share = d > 0 ? 1 - tail : tail;
    y = static_cast<float>(d * share);
    derivative = static_cast<float>(share + d * (0x1.9884533d43651p-2 * bell)); // 1 / sqrt(2 pi)
  }
};

struct silu_pair {
  TROUPE_ALWAYS_INLINE static void compute(float x, float& y, float& derivative) {
    const double s = elementary::sigmoid_for_float(static_cast<double>(x));
    y = static_cast<float>(x * s);
    derivative = static_cast<float>(s + x * s * (1 - s));
  }
};

TROUPE_MULTIVERSION void compute_gelu(float* __restrict y, float* __restrict derivative,
                                      size_t count) {
  for (size_t i = 0; i < count; ++i)
    gelu_pair::compute(y[i], y[i], derivative[i]);
}

TROUPE_MULTIVERSION void compute_silu(float* __restrict y, float* __restrict derivative,
                                      size_t count) {
  for (size_t i = 0; i < count; ++i)
    silu_pair::compute(y[i], y[i], derivative[i]);
}

} // namespace

void activate_and_derive(activation_kind kind, std::span<float> values,
                         std::span<float> derivative) {
  if (!derivative_needs_input(kind) || values.size() != derivative.size())
    throw std::invalid_argument("activation: of this kind the derivative follows from the output");
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
