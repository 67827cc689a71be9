// The activation functions (models/network/activation.hpp says what they are), for processors and devices; written as
// models/shared/elementary.hpp is.

#pragma once

/// Their names, in the order of `activation_kind`.
#define TROUPE_ACTIVATIONS(use)                                                                    \
  use(identity) use(relu) use(tanh) use(sigmoid) use(leaky_relu) use(elu) use(gelu) use(silu)      \
    use(softplus)

/// The slope of leaky-relu below 0 (Maas et al. 2013).
TROUPE_SHARED_CONSTANT float leaky_relu_slope = 0.01f;

TROUPE_SHARED float identity_value(float y) {
  return y;
}
TROUPE_SHARED float identity_derivative(float y) {
  (void)y;
  return 1;
}

// Written so that NaN compares into the first branch and stays.
TROUPE_SHARED float relu_value(float y) {
  return y <= 0 ? 0.0f : y;
}
TROUPE_SHARED float relu_derivative(float y) {
  return y > 0 ? 1.0f : 0.0f;
}

TROUPE_SHARED float tanh_value(float y) {
  return tanh(y);
}
TROUPE_SHARED float tanh_derivative(float y) {
  return 1 - y * y;
}

TROUPE_SHARED float sigmoid_value(float y) {
  return sigmoid(y);
}
TROUPE_SHARED float sigmoid_derivative(float y) {
  return y * (1 - y);
}

TROUPE_SHARED float leaky_relu_value(float y) {
  return y > 0 ? y : leaky_relu_slope * y;
}
TROUPE_SHARED float leaky_relu_derivative(float y) {
  return y > 0 ? 1.0f : leaky_relu_slope;
}

TROUPE_SHARED float elu_value(float y) {
  const float below = expm1(y); // computed for all: a branch would not vectorise
  return y > 0 ? y : below;
}
TROUPE_SHARED float elu_derivative(float y) {
  return y > 0 ? 1.0f : y + 1;
}

TROUPE_SHARED float softplus_value(float y) {
  return to_float(softplus(to_double(y)));
}
TROUPE_SHARED float softplus_derivative(float y) {
  return -expm1(-y);
}

// The derivatives of these two take the input; `_pair` gives both.
TROUPE_SHARED float gelu_value(float x) {
  return to_float(x * normal_cdf(to_double(x)));
}
TROUPE_SHARED float gelu_derivative(float x) {
  const double d = x;
  return to_float(normal_cdf(d) + d * normal_density(d));
}
TROUPE_SHARED void gelu_pair(float x, float* y, float* derivative) {
  const double d = x;
  const double magnitude = clamped(d < 0 ? -d : d, 0, 37);
  const double bell = exp_for_float(-0.5 * magnitude * magnitude);
  const double tail = 0.5 * bell * erfcx(magnitude * 0x1.6a09e667f3bcdp-1); // 1 / sqrt(2)
  const double share = d > 0 ? 1 - tail : tail;
  *y = to_float(d * share);
  *derivative = to_float(share + d * (0x1.9884533d43651p-2 * bell)); // 1 / sqrt(2 pi)
}

TROUPE_SHARED float silu_value(float x) {
  return to_float(x * sigmoid_for_float(to_double(x)));
}
TROUPE_SHARED float silu_derivative(float x) {
  const double s = sigmoid_for_float(to_double(x));
  return to_float(s + x * s * (1 - s));
}
TROUPE_SHARED void silu_pair(float x, float* y, float* derivative) {
  const double s = sigmoid_for_float(to_double(x));
  *y = to_float(x * s);
  *derivative = to_float(s + x * s * (1 - s));
}
