// Elementary functions from additions and multiplications alone.
//
// libm picks other code on other processors, and a vectorised version next to a scalar one rarely
// agrees in the last bit. These functions use only IEEE operations in a fixed order, compiled with
// -ffp-contract=off. So they give the same bits on every machine, in every vector width, for the
// body of an array and its tail. All are branch-free, so that loops over them vectorise. Accuracy:
// results of float functions are within 1 unit in the last place; of double functions within 1e-15
// relative (elementary_test.cpp compares with libm in long double).
//
// Those that devices need too are in models/shared/elementary.hpp.

#pragma once

#include "models/base/multiversion.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace troupe::elementary {

// What files of models/shared are written in.
#define TROUPE_SHARED TROUPE_ALWAYS_INLINE
#define TROUPE_SHARED_CONSTANT inline constexpr

TROUPE_ALWAYS_INLINE float to_float(double x) {
  return static_cast<float>(x);
}
TROUPE_ALWAYS_INLINE double to_double(float x) {
  return x;
}
TROUPE_ALWAYS_INLINE double to_double(int64_t x) {
  return static_cast<double>(x);
}
TROUPE_ALWAYS_INLINE int64_t to_signed(uint64_t x) {
  return static_cast<int64_t>(x);
}
TROUPE_ALWAYS_INLINE uint64_t to_bits(double x) {
  return std::bit_cast<uint64_t>(x);
}
TROUPE_ALWAYS_INLINE double square_root(double x) {
  return std::sqrt(x);
}
TROUPE_ALWAYS_INLINE double from_bits(uint64_t x) {
  return std::bit_cast<double>(x);
}

#include "models/shared/elementary.hpp"

/// e^x in double; overflows to infinity, below -708 it is 0, NaN stays NaN.
inline double exp_double(double x) {
  if (x > 0x1.62e42fefa39efp+9) // ln of the greatest double
    return std::bit_cast<double>(uint64_t{0x7ff0000000000000});
  if (x < -708)
    return 0;
  if (!(x == x))
    return x;
  const double shifted = x * 0x1.71547652b82fep+0 + integer_shift; // log2(e)
  const double k = shifted - integer_shift;
  const double high = x - k * ln2_high;
  const double low = k * ln2_low;
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
