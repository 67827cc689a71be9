// Products by AVX2 and FMA: tiles of 6 x 16.

#if defined(__x86_64__)

#include "troupe/models/math/product_strip.hpp"

#include <immintrin.h>

namespace troupe::products {

namespace {

alignas(32) constexpr int mask_source[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

struct floats8 {
  using type = __m256;
  static constexpr size_t lanes = 8;
  static constexpr size_t unrolled = 2;
  static constexpr bool masks_are_free = false;
  static __m256i some(size_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask_source + lanes - n));
  }
  static type zero() { return _mm256_setzero_ps(); }
  static type load(const float* x) { return _mm256_loadu_ps(x); }
  static type load(const float* x, __m256i mask) { return _mm256_maskload_ps(x, mask); }
  static void store(float* x, type v) { _mm256_storeu_ps(x, v); }
  static void store(float* x, type v, __m256i mask) { _mm256_maskstore_ps(x, mask, v); }
  static type all(float x) { return _mm256_set1_ps(x); }
  static type fma(type a, type b, type c) { return _mm256_fmadd_ps(a, b, c); }
  static type add(type a, type b) { return _mm256_add_ps(a, b); }
};

constexpr int panel_vectors = 2;
constexpr size_t panel_width = panel_vectors * floats8::lanes;

// Eight sums at least, so that none waits for itself; 12 at most, of 16 registers.
constexpr int vectors_of(int rows) {
  return rows == 1 ? 8 : rows <= 3 ? 4 : 2;
}

/// Four k of 8 lines, of which n are there.
inline void four_of(const float* from, size_t row, size_t n, float* to) {
  const auto at = [=](size_t i) { return _mm_loadu_ps(from + (i < n ? i : n - 1) * row); };
  __m256 x[4];
  TROUPE_UNROLL for (size_t i = 0; i < 4; ++i) x[i] =
    _mm256_insertf128_ps(_mm256_castps128_ps256(at(i)), at(i + 4), 1);
  const auto pairs = [](__m256 v) { return _mm256_castps_pd(v); };
  const auto put = [to](size_t p, __m256d v) {
    _mm256_storeu_ps(to + p * panel_width, _mm256_castpd_ps(v));
  };
  const auto low = pairs(_mm256_unpacklo_ps(x[0], x[1])),
             high = pairs(_mm256_unpackhi_ps(x[0], x[1]));
  const auto low2 = pairs(_mm256_unpacklo_ps(x[2], x[3])),
             high2 = pairs(_mm256_unpackhi_ps(x[2], x[3]));
  put(0, _mm256_unpacklo_pd(low, low2));
  put(1, _mm256_unpackhi_pd(low, low2));
  put(2, _mm256_unpacklo_pd(high, high2));
  put(3, _mm256_unpackhi_pd(high, high2));
}

void transpose(const float* from, size_t row, size_t columns, size_t k, float* to) {
  transpose_lines<floats8::lanes, panel_width>(from, row, columns, k, to, four_of);
}

} // namespace

const kernels avx2_kernels{"avx2",
                           panel_width,
                           6,
                           floats8::lanes,
                           run_rows<floats8, panel_vectors, vectors_of, 1, 2, 3, 4, 5, 6>,
                           transpose,
                           copy_lines<floats8, panel_vectors>,
                           copy_left<floats8, 1>};

} // namespace troupe::products

#endif
