#include "troupe/models/network/activation_pair.hpp"

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/math/elementary.hpp"

#include <stdexcept>

namespace troupe {

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
  if (kind == activation_kind::gelu)
    compute_gelu(values.data(), derivative.data(), values.size());
  else
    compute_silu(values.data(), derivative.data(), values.size());
}

} // namespace troupe
