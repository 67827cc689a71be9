// Products on any processor. Without an instruction for a fused multiply-add, additions and multiplications of
// doubles make one, exactly, at a 25th of the speed.

#include "models/math/product_kernels.hpp"

namespace troupe::products {

namespace {

constexpr size_t lanes = 8;

#if defined(__FP_FAST_FMAF)

inline void fuse(float a, const float* b, float* sums) {
  for (size_t l = 0; l < lanes; ++l)
    sums[l] = __builtin_fmaf(a, b[l], sums[l]);
}

#else

// Two at a time: what the smallest vector register holds as doubles.
constexpr size_t pair = 2;
using floats [[gnu::vector_size(pair * sizeof(float))]] = float;
using doubles [[gnu::vector_size(pair * sizeof(double))]] = double;
using words [[gnu::vector_size(pair * sizeof(long long))]] = long long;

// The product of two floats is exact as a double. Its sum with the third is rounded to odd: the last bit shows whether
// anything was cut off, so that the rounding to float, 29 bits above, goes the right way (S. Boldo and G. Melquiond,
// Emulation of FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd, 2008).
inline void fuse(float a, const float* b, float* sums) {
  for (size_t l = 0; l < lanes; l += pair) {
    floats right, sum;
    __builtin_memcpy(&right, b + l, sizeof right);
    __builtin_memcpy(&sum, sums + l, sizeof sum);
    const doubles x = static_cast<double>(a) * __builtin_convertvector(right, doubles);
    const doubles y = __builtin_convertvector(sum, doubles);
    const doubles total = x + y, back = total - x;
    const doubles rest = (x - (total - back)) + (y - back); // total + rest is exact
    // Where something is left and the total is even, one step towards it makes it odd. NaN is neither above nor below 0.
    const words above = rest > 0, below = rest < 0, grows = above ^ (total < 0);
    words bits;
    __builtin_memcpy(&bits, &total, sizeof bits);
    bits += (above | below) & ((bits & 1) - 1) & ((grows & 2) - 1);
    doubles odd;
    __builtin_memcpy(&odd, &bits, sizeof odd);
    sum = __builtin_convertvector(odd, floats);
    __builtin_memcpy(sums + l, &sum, sizeof sum);
  }
}

#endif

void run(size_t rows, const strip& what) {
  for (size_t j = 0; j < what.columns; j += lanes) {
    const size_t left = what.columns - j, count = left < lanes ? left : lanes;
    for (size_t i = 0; i < rows; ++i) {
      float sums[lanes] = {}, some[lanes] = {};
      const float* a = what.a_by_columns ? what.a + i : what.a + i * what.a_row;
      const float* b = what.b + j / lanes * what.b_panel;
      for (size_t p = 0; p < what.k; ++p, b += what.b_k, a += what.a_by_columns ? what.a_row : 1) {
        if (what.is_padded || count == lanes) {
          fuse(*a, b, sums);
          continue;
        }
        for (size_t l = 0; l < count; ++l)
          some[l] = b[l];
        fuse(*a, some, sums);
      }
      float* const out = what.out + i * what.out_row + j;
      for (size_t l = 0; l < count; ++l)
        out[l] = what.adds ? out[l] + sums[l] : sums[l];
    }
  }
}

void transpose(const float* from, size_t row, size_t columns, size_t k, float* to) {
  for (size_t p = 0; p < k; ++p)
    for (size_t i = 0; i < lanes; ++i)
      to[p * lanes + i] = i < columns ? from[i * row + p] : 0;
}

void copy(const float* from, size_t row, size_t columns, size_t k, float* to) {
  for (size_t j = 0; j < columns; j += lanes)
    for (size_t p = 0; p < k; ++p, to += lanes)
      for (size_t i = 0; i < lanes; ++i)
        to[i] = j + i < columns ? from[p * row + j + i] : 0;
}

void copy_left(const float* from, size_t row, size_t count, size_t k, float* to) {
  for (size_t p = 0; p < k; ++p, from += row, to += lanes)
    for (size_t i = 0; i < count; ++i)
      to[i] = from[i];
}

} // namespace

const kernels portable_kernels{"portable", lanes,   lanes,     lanes, run,
                               0,          nullptr, transpose, copy,  copy_left};

} // namespace troupe::products
