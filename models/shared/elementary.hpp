// The elementary functions that devices compute as well (models/math/elementary.hpp says what they are).
//
// The C++ and the OpenCL compiler both read this file, so it is C: no templates, no namespaces, conversions by the
// functions that each side defines before (to_float, to_double, to_signed, to_bits, from_bits,
// square_root).

#pragma once

// Adding this pushes a double's integer part into its low bits, rounded to nearest even.
TROUPE_SHARED_CONSTANT double integer_shift = 0x1.8p52;

// ln 2 in two parts: the product of the first with an integer below 2^11 is exact.
TROUPE_SHARED_CONSTANT double ln2_high = 0x1.62e42fefa3800p-1;
TROUPE_SHARED_CONSTANT double ln2_low = 0x1.ef35793c76730p-45;

/// e^x in double, to float's accuracy (relative error below 1e-11); |x| <= 700 or NaN.
TROUPE_SHARED double exp_for_float(double x) {
  const double shifted = x * 0x1.71547652b82fep+0 + integer_shift; // log2(e)
  const double k = shifted - integer_shift;
  const double r = (x - k * ln2_high) - k * ln2_low;
  // Taylor series; |r| <= ln(2) / 2, the first term left out is below 7e-12.
  double p = 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const double power = from_bits((to_bits(shifted) + 1023) << 52);
  return p * power;
}

/// Keeps x in [low, high]; NaN stays NaN.
TROUPE_SHARED double clamped(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/// e^x; overflows to infinity, underflows to 0, NaN stays NaN.
TROUPE_SHARED float exp(float x) {
  // Outside these bounds the float result is infinity or 0 already.
  return to_float(exp_for_float(clamped(x, -110, 89.5)));
}

/// The hyperbolic tangent; NaN stays NaN.
TROUPE_SHARED float tanh(float x) {
  const double d = x;
  const double magnitude = d < 0 ? -d : d;
  const double e = exp_for_float(clamped(2 * magnitude, 0, 60));
  const double large = (e - 1) / (e + 1);
  // Near 0 the difference above cancels; the series' first term left out is below 2e-11 there.
  const double square = magnitude * magnitude;
  const double small = magnitude * (1 - square * (1.0 / 3 - square * (2.0 / 15)));
  const double result = magnitude < 0.03 ? small : large;
  return to_float(d < 0 ? -result : (d == 0 ? d : result));
}

/// The logistic function 1 / (1 + e^-x); NaN stays NaN.
TROUPE_SHARED float sigmoid(float x) {
  return to_float(1 / (1 + exp_for_float(clamped(-to_double(x), -110, 110))));
}

/// Natural logarithm in double of a positive, normal x. Infinity stays; 0, negative and NaN: NaN.
TROUPE_SHARED double log(double x) {
  if (!(x > 0))
    return from_bits(0x7ff8000000000000);
  if (x > 0x1.fffffffffffffp1023)
    return x;
  // x = 2^k m with m in [1 / sqrt(2), sqrt(2)).
  const uint64_t bits = to_bits(x);
  const uint64_t shifted = bits - 0x3fe6a09e667f3bcd; // bits of 1 / sqrt(2)
  const double k = to_double(to_signed(shifted) >> 52);
  const double m = from_bits((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
  const double s = (m - 1) / (m + 1);
  const double z = s * s; // |s| < 0.1716; the first term left out is below 1e-17
  double p = 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  return k * ln2_high + (2 * s + (2 * s * z * p + k * ln2_low));
}

/// log(1 + x) in double for x > -1, exact to the last digits for small x too (Kahan's correction:
/// the error of rounding 1 + x is divided out again).
TROUPE_SHARED double log1p(double x) {
  const double sum = 1 + x;
  return sum == 1 ? x : log(sum) * (x / (sum - 1));
}

/// e^x - 1; NaN stays NaN.
TROUPE_SHARED float expm1(float x) {
  const double d = clamped(to_double(x), -110, 89.5);
  // Near 0 the difference cancels; the series' first term left out is below 1e-11 of it there.
  const double small = d * (1 + d * (1.0 / 2 + d * (1.0 / 6 + d * (1.0 / 24 + d * (1.0 / 120)))));
  const double large = exp_for_float(d) - 1;
  const double magnitude = d < 0 ? -d : d;
  return to_float(magnitude < 0.01 ? small : large);
}

/// log(1 + x) in double for x in [0, 1], relative error below 1e-11, without a branch.
TROUPE_SHARED double log1p_of_unit(double x) {
  // log((1 + s) / (1 - s)) as a series; z <= 1 / 9, the first term left out is below 1e-12.
  const double s = x / (2 + x);
  const double z = s * s;
  double p = 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return 2 * s * p;
}

/// log(1 + e^x), relative error below 1e-10; NaN stays NaN.
TROUPE_SHARED double softplus(double x) {
  const double magnitude = x < 0 ? -x : x;
  const double rest = log1p_of_unit(exp_for_float(clamped(-magnitude, -700, 0)));
  return (x > 0 ? x : 0) + rest;
}

/// 1 / (1 + e^-x) in double, to float's accuracy; NaN stays NaN.
TROUPE_SHARED double sigmoid_for_float(double x) {
  return 1 / (1 + exp_for_float(clamped(-x, -700, 700)));
}

/// The scaled complementary error function e^(t^2) erfc(t) for t >= 0, relative error below 1e-12.
///
/// (t + 3) erfcx(t) is smooth in y = (t - 3) / (t + 3) over all of [0, infinity); the polynomial
/// interpolates it in Chebyshev's points (tests/reference/erfcx.py computes the coefficients).
TROUPE_SHARED double erfcx(double t) {
  const double inverse = 1 / (t + 3);
  const double y = 1 - 6 * inverse;
  double p = 0x1.14bf0b0ec344dp-25;
  p = p * y - 0x1.61e6d899d0d86p-24;
  p = p * y - 0x1.91a44933501a5p-22;
  p = p * y + 0x1.926744becbb4ap-21;
  p = p * y + 0x1.6d8b8cdfeb5abp-19;
  p = p * y - 0x1.2e35369d2f9cep-18;
  p = p * y - 0x1.2498de0c86489p-16;
  p = p * y + 0x1.fb7ac1bb35a8cp-16;
  p = p * y + 0x1.c316bb4f50260p-14;
  p = p * y - 0x1.2229d43b6683fp-12;
  p = p * y - 0x1.1f786422e8276p-11;
  p = p * y + 0x1.8dadcd92d1ce2p-9;
  p = p * y - 0x1.3dd3f0bd62f8dp-10;
  p = p * y - 0x1.b789922e3ce94p-6;
  p = p * y + 0x1.e995f11e1fba0p-4;
  p = p * y - 0x1.3deb2142d8e07p-2;
  p = p * y + 0x1.2e326945db389p-1;
  p = p * y - 0x1.c44c471ba71a0p-1;
  p = p * y + 0x1.12f21ddd9f600p+0;
  return p * inverse;
}

/// Phi(x), the standard normal distribution function, relative error below 1e-10 for |x| <= 37;
/// NaN stays NaN.
TROUPE_SHARED double normal_cdf(double x) {
  const double magnitude = clamped(x < 0 ? -x : x, 0, 37);
  const double t = magnitude * 0x1.6a09e667f3bcdp-1; // 1 / sqrt(2)
  const double tail = 0.5 * exp_for_float(-0.5 * magnitude * magnitude) * erfcx(t);
  return x > 0 ? 1 - tail : tail;
}

/// phi(x) = e^(-x^2 / 2) / sqrt(2 pi), the standard normal density, to float's accuracy.
TROUPE_SHARED double normal_density(double x) {
  return 0x1.9884533d43651p-2 * exp_for_float(clamped(-0.5 * x * x, -700, 0));
}

/// The inverse tangent in double for x in [0, 1], within 1e-15; NaN stays NaN.
TROUPE_SHARED double atan_of_unit(double x) {
  // Half of the angle, twice: tan(a / 2) = tan(a) / (1 + sqrt(1 + tan(a)^2)); r <= 0.199.
  const double halved = x / (1 + square_root(1 + x * x));
  const double r = halved / (1 + square_root(1 + halved * halved));
  const double z = r * r; // the first term left out is below 1e-18
  double p = 1.0 / 23;
  p = 1.0 / 21 - p * z;
  p = 1.0 / 19 - p * z;
  p = 1.0 / 17 - p * z;
  p = 1.0 / 15 - p * z;
  p = 1.0 / 13 - p * z;
  p = 1.0 / 11 - p * z;
  p = 1.0 / 9 - p * z;
  p = 1.0 / 7 - p * z;
  p = 1.0 / 5 - p * z;
  p = 1.0 / 3 - p * z;
  p = 1.0 - p * z;
  return 4 * r * p;
}

/// The inverse tangent in double for x >= 0; NaN stays NaN.
TROUPE_SHARED double atan(double x) {
  const double quarter_turn = 0x1.921fb54442d18p+0;
  return x > 1 ? quarter_turn - atan_of_unit(1 / x) : atan_of_unit(x);
}
