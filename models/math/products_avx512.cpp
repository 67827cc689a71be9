// Products by AVX-512: tiles of 14 x 32.

#if defined(__x86_64__)

#include "troupe/models/math/product_strip.hpp"

#include <immintrin.h>

namespace troupe::products {

namespace {

struct floats16 {
  using type = __m512;
  static constexpr size_t lanes = 16;
  static constexpr size_t unrolled = 2;
  static constexpr bool masks_are_free = true;
  static __mmask16 some(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }
  static type zero() { return _mm512_setzero_ps(); }
  static type load(const float* x) { return _mm512_loadu_ps(x); }
  static type load(const float* x, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, x); }
  static void store(float* x, type v) { _mm512_storeu_ps(x, v); }
  static void store(float* x, type v, __mmask16 mask) { _mm512_mask_storeu_ps(x, mask, v); }
  static type all(float x) { return _mm512_set1_ps(x); }
  static type fma(type a, type b, type c) { return _mm512_fmadd_ps(a, b, c); }
  static type add(type a, type b) { return _mm512_add_ps(a, b); }
};

constexpr int panel_vectors = 2;
constexpr size_t panel_width = panel_vectors * floats16::lanes;

// Eight sums at least, so that none waits for itself; 28 at most, of 32 registers.
constexpr int vectors_of(int rows) {
  return rows <= 3 ? 8 : rows <= 6 ? 4 : 2;
}

/// Four k of 16 lines, of which n are there.
inline void four_of(const float* from, size_t row, size_t n, float* to) {
  const auto at = [=](size_t i) { return _mm_loadu_ps(from + (i < n ? i : n - 1) * row); };
  __m512 x[4];
  TROUPE_UNROLL for (size_t i = 0; i < 4; ++i) {
    x[i] = _mm512_castps128_ps512(at(i));
    x[i] = _mm512_insertf32x4(x[i], at(i + 4), 1);
    x[i] = _mm512_insertf32x4(x[i], at(i + 8), 2);
    x[i] = _mm512_insertf32x4(x[i], at(i + 12), 3);
  }
  const auto pairs = [](__m512 v) { return _mm512_castps_pd(v); };
  const auto put = [to](size_t p, __m512d v) {
    _mm512_storeu_ps(to + p * panel_width, _mm512_castpd_ps(v));
  };
  const auto low = pairs(_mm512_unpacklo_ps(x[0], x[1])),
             high = pairs(_mm512_unpackhi_ps(x[0], x[1]));
  const auto low2 = pairs(_mm512_unpacklo_ps(x[2], x[3])),
             high2 = pairs(_mm512_unpackhi_ps(x[2], x[3]));
  put(0, _mm512_unpacklo_pd(low, low2));
  put(1, _mm512_unpackhi_pd(low, low2));
  put(2, _mm512_unpacklo_pd(high, high2));
  put(3, _mm512_unpackhi_pd(high, high2));
}

void transpose(const float* from, size_t row, size_t columns, size_t k, float* to) {
  transpose_lines<floats16::lanes, panel_width>(from, row, columns, k, to, four_of);
}

} // namespace

const kernels avx512_kernels{
  "avx512",
  panel_width,
  14,
  floats16::lanes,
  run_rows<floats16, panel_vectors, vectors_of, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>,
  transpose,
  copy_lines<floats16, panel_vectors>,
  copy_left<floats16, 1>};

} // namespace troupe::products

#endif
