// Elementary functions from additions and multiplications alone.
//
// libm picks other code on other processors, and a vectorised version next to a scalar one rarely
// agrees in the last bit. These functions use only IEEE operations in a fixed order, compiled with
// -ffp-contract=off. So they give the same bits on every machine, in every vector width, for the
// body of an array and its tail. All are branch-free, so that loops over them vectorise. Accuracy:
// results of float functions are within 1 unit in the last place; of double functions within 1e-15
// relative (elementary_test.cpp compares with libm in long double).

#pragma once

#include "models/base/multiversion.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace troupe::elementary {

namespace detail {

// Adding this pushes a double's integer part into its low bits, rounded to nearest even.
inline constexpr double integer_shift = 0x1.8p52;

// ln 2 in two parts: the product of the first with an integer below 2^11 is exact.
inline constexpr double ln2_high = 0x1.62e42fefa3800p-1;
inline constexpr double ln2_low = 0x1.ef35793c76730p-45;

} // namespace detail

/// e^x in double, to float's accuracy (relative error below 1e-11); |x| <= 700 or NaN.
TROUPE_ALWAYS_INLINE double exp_for_float(double x) {
  const double shifted = x * 0x1.71547652b82fep+0 + detail::integer_shift; // log2(e)
  const double k = shifted - detail::integer_shift;
  const double r = (x - k * detail::ln2_high) - k * detail::ln2_low;
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
  const auto power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
  return p * power;
}

/// Keeps x in [low, high]; NaN stays NaN.
TROUPE_ALWAYS_INLINE double clamped(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/// e^x; overflows to infinity, underflows to 0, NaN stays NaN.
TROUPE_ALWAYS_INLINE float exp(float x) {
  // Outside these bounds the float result is infinity or 0 already.
  return static_cast<float>(exp_for_float(clamped(x, -110, 89.5)));
}

/// The hyperbolic tangent; NaN stays NaN.
TROUPE_ALWAYS_INLINE float tanh(float x) {
  const double d = x;
  const double magnitude = d < 0 ? -d : d;
  const double e = exp_for_float(clamped(2 * magnitude, 0, 60));
  const double large = (e - 1) / (e + 1);
  // Near 0 the difference above cancels; the series' first term left out is below 2e-11 there.
  const double square = magnitude * magnitude;
  const double small = magnitude * (1 - square * (1.0 / 3 - square * (2.0 / 15)));
  const double result = magnitude < 0.03 ? small : large;
  return static_cast<float>(d < 0 ? -result : (d == 0 ? d : result));
}

/// The logistic function 1 / (1 + e^-x); NaN stays NaN.
TROUPE_ALWAYS_INLINE float sigmoid(float x) {
  return static_cast<float>(1 / (1 + exp_for_float(clamped(-static_cast<double>(x), -110, 110))));
}

/// Natural logarithm in double of a positive, normal x. Infinity stays; 0, negative and NaN: NaN.
TROUPE_ALWAYS_INLINE double log(double x) {
  if (!(x > 0))
    return std::bit_cast<double>(uint64_t{0x7ff8000000000000});
  if (x > 0x1.fffffffffffffp1023)
    return x;
  // x = 2^k m with m in [1 / sqrt(2), sqrt(2)).
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t shifted = bits - 0x3fe6a09e667f3bcd; // bits of 1 / sqrt(2)
  const auto k = static_cast<double>(static_cast<int64_t>(shifted) >> 52);
  const auto m = std::bit_cast<double>((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
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
  return k * detail::ln2_high + (2 * s + (2 * s * z * p + k * detail::ln2_low));
}

/// log(1 + x) in double for x > -1, exact to the last digits for small x too (Kahan's correction:
/// the error of rounding 1 + x is divided out again).
TROUPE_ALWAYS_INLINE double log1p(double x) {
  const double sum = 1 + x;
  return sum == 1 ? x : log(sum) * (x / (sum - 1));
}

/// e^x - 1; NaN stays NaN.
TROUPE_ALWAYS_INLINE float expm1(float x) {
  const double d = clamped(static_cast<double>(x), -110, 89.5);
  // Near 0 the difference cancels; the series' first term left out is below 1e-11 of it there.
  const double small = d * (1 + d * (1.0 / 2 + d * (1.0 / 6 + d * (1.0 / 24 + d * (1.0 / 120)))));
  const double large = exp_for_float(d) - 1;
  const double magnitude = d < 0 ? -d : d;
  return static_cast<float>(magnitude < 0.01 ? small : large);
}

/// log(1 + x) in double for x in [0, 1], relative error below 1e-11, without a branch.
TROUPE_ALWAYS_INLINE double log1p_of_unit(double x) {
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
TROUPE_ALWAYS_INLINE double softplus(double x) {
  const double magnitude = x < 0 ? -x : x;
  const double rest = log1p_of_unit(exp_for_float(clamped(-magnitude, -700, 0)));
  return (x > 0 ? x : 0) + rest;
}

/// 1 / (1 + e^-x) in double, to float's accuracy; NaN stays NaN.
TROUPE_ALWAYS_INLINE double sigmoid_for_float(double x) {
  return 1 / (1 + exp_for_float(clamped(-x, -700, 700)));
}

/// The scaled complementary error function e^(t^2) erfc(t) for t >= 0, relative error below 1e-12.
///
/// (t + 3) erfcx(t) is smooth in y = (t - 3) / (t + 3) over all of [0, infinity); the polynomial
/// interpolates it in Chebyshev's points (tests/reference/erfcx.py computes the coefficients).
TROUPE_ALWAYS_INLINE double erfcx(double t) {
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
TROUPE_ALWAYS_INLINE double normal_cdf(double x) {
  const double magnitude = clamped(x < 0 ? -x : x, 0, 37);
  const double t = magnitude * 0x1.6a09e667f3bcdp-1; // 1 / sqrt(2)
  const double tail = 0.5 * exp_for_float(-0.5 * magnitude * magnitude) * erfcx(t);
  return x > 0 ? 1 - tail : tail;
}

/// phi(x) = e^(-x^2 / 2) / sqrt(2 pi), the standard normal density, to float's accuracy.
TROUPE_ALWAYS_INLINE double normal_density(double x) {
  return 0x1.9884533d43651p-2 * exp_for_float(clamped(-0.5 * x * x, -700, 0));
}

/// The inverse tangent in double for x in [0, 1], within 1e-15; NaN stays NaN.
TROUPE_ALWAYS_INLINE double atan_of_unit(double x) {
  // Half of the angle, twice: tan(a / 2) = tan(a) / (1 + sqrt(1 + tan(a)^2)); r <= 0.199.
  const double half = x / (1 + std::sqrt(1 + x * x));
  const double r = half / (1 + std::sqrt(1 + half * half));
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
TROUPE_ALWAYS_INLINE double atan(double x) {
  constexpr double quarter_turn = 0x1.921fb54442d18p+0;
  return x > 1 ? quarter_turn - atan_of_unit(1 / x) : atan_of_unit(x);
}

/// e^x in double; overflows to infinity, below -708 it is 0, NaN stays NaN.
inline double exp_double(double x) {
  if (x > 0x1.62e42fefa39efp+9) // ln of the greatest double
    return std::bit_cast<double>(uint64_t{0x7ff0000000000000});
  if (x < -708)
    return 0;
  if (!(x == x))
    return x;
  const double shifted = x * 0x1.71547652b82fep+0 + detail::integer_shift; // log2(e)
  const double k = shifted - detail::integer_shift;
  const double high = x - k * detail::ln2_high;
  const double low = k * detail::ln2_low;
  const double r = high - low; // |r| <= ln(2) / 2; the first term left out is below 1e-18
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  const double value = 1 + (high - (low - r * r * p));
  // 2^1024 is no double: the power is applied in two halves.
  const auto whole = static_cast<int64_t>(k);
  const int64_t half = whole / 2;
  const auto two_to = [](int64_t n) {
    return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
  };
  return value * two_to(half) * two_to(whole - half);
}

/// cos(2 pi turns / 2^32): the angle as a fraction of a full turn, so that reduction is exact.
inline double cos_of_turn(uint32_t turns) {
  // The nearest quarter turn, and what is left: |x| <= pi / 4.
  const uint32_t moved = turns + 0x20000000u;
  const uint32_t quarter = moved >> 30;
  const auto rest = static_cast<int32_t>(moved & 0x3fffffffu) - 0x20000000;
  const double x = rest * (0x1.921fb54442d18p+2 * 0x1p-32); // 2 pi / 2^32
  const double z = x * x;
  // Taylor series; the first terms left out are below 1e-17.
  double sine = -1.0 / 1307674368000;
  sine = sine * z + 1.0 / 6227020800;
  sine = sine * z - 1.0 / 39916800;
  sine = sine * z + 1.0 / 362880;
  sine = sine * z - 1.0 / 5040;
  sine = sine * z + 1.0 / 120;
  sine = sine * z - 1.0 / 6;
  sine = (sine * z + 1.0) * x;
  double cosine = 1.0 / 20922789888000;
  cosine = cosine * z - 1.0 / 87178291200;
  cosine = cosine * z + 1.0 / 479001600;
  cosine = cosine * z - 1.0 / 3628800;
  cosine = cosine * z + 1.0 / 40320;
  cosine = cosine * z - 1.0 / 720;
  cosine = cosine * z + 1.0 / 24;
  cosine = cosine * z - 0.5;
  cosine = cosine * z + 1.0;
  const double value = quarter % 2 == 0 ? cosine : sine;
  return quarter == 1 || quarter == 2 ? -value : value;
}

/// cos(pi x) for x in [0, 1].
TROUPE_ALWAYS_INLINE double cos_pi(double x) {
  // Half a turn is 2^31; the angle is rounded to 2^-32 of a turn, 7e-10 of the result.
  return cos_of_turn(static_cast<uint32_t>(x * 0x1p31));
}

/// base^exponent by repeated squaring: exact rules for a whole exponent, no libm.
TROUPE_ALWAYS_INLINE double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

/// base^exponent for a base of at least 0 (0 to a power above 0 is 0) and any finite exponent.
/// Relative error below (1 + |exponent ln(base)|) 4e-16.
inline double pow(double base, double exponent) {
  if (exponent == 0 || base == 1)
    return 1;
  if (base == 0 && exponent > 0)
    return 0;
  return exp_double(exponent * log(base));
}

} // namespace troupe::elementary
