// Products by AVX2 and FMA: tiles of 6 x 16.

#if defined(__x86_64__)

#include "models/math/product_lines.hpp"

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
  template <class At>
  static type fours(const At& at, size_t i) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at(i))),
                                _mm_loadu_ps(at(i + 4)), 1);
  }
  static type low(type a, type b) { return _mm256_unpacklo_ps(a, b); }
  static type high(type a, type b) { return _mm256_unpackhi_ps(a, b); }
  static type low_pairs(type a, type b) {
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
  }
  static type high_pairs(type a, type b) {
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
  }
};

constexpr int panel_vectors = 2;
constexpr size_t panel_width = panel_vectors * floats8::lanes;

// Eight sums at least, so that none waits for itself; 12 at most, of 16 registers.
constexpr int vectors_of(int rows) {
  return rows == 1 ? 8 : rows <= 3 ? 4 : 2;
}

/// Of lines that are transposed in registers.
constexpr int lines_vectors(int rows) {
  return rows <= 2 ? 2 : 1;
}

} // namespace

const kernels avx2_kernels{"avx2",
                           panel_width,
                           6,
                           floats8::lanes,
                           run_rows<floats8, panel_vectors, vectors_of, 1, 2, 3, 4, 5, 6>,
                           6,
                           run_lines<floats8, lines_vectors, 1, 2, 3, 4, 5, 6>,
                           transpose<floats8, panel_vectors>,
                           copy_lines<floats8, panel_vectors>,
                           copy_left<floats8, 1>};

} // namespace troupe::products

#endif
