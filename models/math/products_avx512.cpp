// Products by AVX-512: tiles of 14 x 32.

#if defined(__x86_64__)

#include "models/math/product_lines.hpp"

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
  template <class At>
  static type fours(const At& at, size_t i) {
    const auto x =
      _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(at(i))), _mm_loadu_ps(at(i + 4)), 1);
    const auto y = _mm512_insertf32x4(x, _mm_loadu_ps(at(i + 8)), 2);
    return _mm512_insertf32x4(y, _mm_loadu_ps(at(i + 12)), 3);
  }
  static type low(type a, type b) { return _mm512_unpacklo_ps(a, b); }
  static type high(type a, type b) { return _mm512_unpackhi_ps(a, b); }
  static type low_pairs(type a, type b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  }
  static type high_pairs(type a, type b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  }
};

constexpr int panel_vectors = 2;
constexpr size_t panel_width = panel_vectors * floats16::lanes;

// Eight sums at least, so that none waits for itself; 28 at most, of 32 registers.
constexpr int vectors_of(int rows) {
  return rows <= 3 ? 8 : rows <= 6 ? 4 : 2;
}

/// Of lines that are transposed in registers.
constexpr int lines_vectors(int rows) {
  return rows <= 4 ? 2 : 1;
}

} // namespace

const kernels avx512_kernels{
  "avx512",
  panel_width,
  14,
  floats16::lanes,
  run_rows<floats16, panel_vectors, vectors_of, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>,
  14,
  run_lines<floats16, lines_vectors, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14>,
  transpose<floats16, panel_vectors>,
  copy_lines<floats16, panel_vectors>,
  copy_left<floats16, 1>};

} // namespace troupe::products

#endif
