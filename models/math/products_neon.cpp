// Products by NEON, which every 64-bit Arm has: tiles of 6 x 16.

#if defined(__aarch64__)

#include "models/math/product_lines.hpp"

#include <arm_neon.h>

namespace troupe::products {

namespace {

struct floats4 {
  using type = float32x4_t;
  static constexpr size_t lanes = 4;
  static constexpr size_t unrolled = 1;
  static constexpr bool masks_are_free = false;
  static size_t some(size_t n) { return n; }
  static type zero() { return vdupq_n_f32(0); }
  static type load(const float* x) { return vld1q_f32(x); }
  static type load(const float* x, size_t n) {
    if (n == lanes)
      return vld1q_f32(x);
    float values[lanes] = {};
    for (size_t l = 0; l < n; ++l)
      values[l] = x[l];
    return vld1q_f32(values);
  }
  static void store(float* x, type v) { vst1q_f32(x, v); }
  static void store(float* x, type v, size_t n) {
    if (n == lanes)
      return vst1q_f32(x, v);
    float values[lanes];
    vst1q_f32(values, v);
    for (size_t l = 0; l < n; ++l)
      x[l] = values[l];
  }
  static type all(float x) { return vdupq_n_f32(x); }
  static type fma(type a, type b, type c) { return vfmaq_f32(c, a, b); }
  static type add(type a, type b) { return vaddq_f32(a, b); }
  template <class At>
  static type fours(const At& at, size_t i) {
    return vld1q_f32(at(i));
  }
  static type low(type a, type b) { return vzip1q_f32(a, b); }
  static type high(type a, type b) { return vzip2q_f32(a, b); }
  static type low_pairs(type a, type b) {
    return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
  }
  static type high_pairs(type a, type b) {
    return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
  }
};

constexpr int panel_vectors = 4;
constexpr size_t panel_width = panel_vectors * floats4::lanes;

// 24 sums at most, 4 of B, 1 of A: of 32 registers.
constexpr int vectors_of(int rows) {
  return rows <= 3 ? 8 : 4;
}

void copy_strip(const float* from, size_t row, size_t count, size_t k, float* to) {
  for (size_t p = 0; p < k; ++p, from += row, to += 8)
    for (size_t i = 0; i < count; ++i)
      to[i] = from[i];
}

/// Of lines that are transposed in registers.
constexpr int lines_vectors(int rows) {
  return rows <= 2 ? 2 : 1;
}

} // namespace

const kernels neon_kernels{"neon",
                           panel_width,
                           6,
                           8,
                           run_rows<floats4, panel_vectors, vectors_of, 1, 2, 3, 4, 5, 6>,
                           6,
                           run_lines<floats4, lines_vectors, 1, 2, 3, 4, 5, 6>,
                           transpose<floats4, panel_vectors>,
                           copy_lines<floats4, panel_vectors>,
                           copy_strip};

} // namespace troupe::products

#endif
