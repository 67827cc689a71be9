// Products by B^T, whose lines lie side by side in k: transposed in registers, for a few rows, or into a panel.
//
// Beside what product_strip.hpp asks of V: fours(at, i), the four floats at(i), at(i + 4), .. as far as lanes go; of two
// vectors, in each four lanes, low and high (floats in turn) and low_pairs and high_pairs (pairs of them).

#pragma once

#include "models/math/product_strip.hpp"

namespace troupe::products {

namespace {

/// Four values of each of `lanes` lines, of which at(i) gives the i-th: to[p] has the p-th of all.
template <class V, class At>
inline __attribute__((always_inline)) void transpose_four(const At& at, typename V::type (&to)[4]) {
  typename V::type x[4];
  TROUPE_UNROLL for (size_t i = 0; i < 4; ++i) x[i] = V::fours(at, i);
  const auto low = V::low(x[0], x[1]), high = V::high(x[0], x[1]);
  const auto low2 = V::low(x[2], x[3]), high2 = V::high(x[2], x[3]);
  to[0] = V::low_pairs(low, low2);
  to[1] = V::high_pairs(low, low2);
  to[2] = V::low_pairs(high, high2);
  to[3] = V::high_pairs(high, high2);
}

/// Rows x Vectors of the result, `count` of its columns, from lines of B^T that are `b_k` apart: transposed in registers,
/// which few rows of A pay for sooner than a copy.
template <class V, int Rows, int Vectors, bool Whole>
void run_lines_tile(const strip& what, size_t column, size_t count) {
  using vector = typename V::type;
  constexpr int lanes = V::lanes, bases = (Rows + 2) / 3, eights = (Vectors * lanes + 7) / 8;
  const size_t k = what.k, row = what.a_row;
  vector sums[Rows][Vectors];
  TROUPE_UNROLL for (int i = 0; i < Rows; ++i) TROUPE_UNROLL for (int j = 0; j < Vectors; ++j)
    sums[i][j] = V::zero();
  const float* a[bases];
  TROUPE_UNROLL for (int i = 0; i < bases; ++i) a[i] = what.a + static_cast<size_t>(3 * i) * row;
  const float* const first = what.b + column * what.b_k;
  // Eight lines from one pointer and four registers: 1, 2, 4 lines, 3, 6, 5 and 7, in bytes.
  const size_t line = what.b_k * sizeof(float), line3 = 3 * line;
  const size_t behind[] = {0, line, 2 * line, line3, 4 * line, 5 * line, 2 * line3, 7 * line};
  const char* b[eights];
  TROUPE_UNROLL for (int i = 0; i < eights; ++i) b[i] =
    reinterpret_cast<const char*>(first) + static_cast<size_t>(8 * i) * line;
  const auto held = [=](size_t i) {
    return first + (Whole || i < count ? i : count - 1) * what.b_k;
  };
  const auto add_term = [&](vector right, int j, size_t p) __attribute__((always_inline)) {
    TROUPE_UNROLL for (int i = 0; i < Rows; ++i) sums[i][j] =
      V::fma(V::all(a[i / 3][static_cast<size_t>(i % 3) * row + p]), right, sums[i][j]);
  };
  size_t p = 0;
  for (; p + 4 <= k; p += 4) {
    TROUPE_UNROLL for (int j = 0; j < Vectors; ++j) {
      vector right[4];
      const auto at = [&](size_t i) __attribute__((always_inline)) {
        const auto l = static_cast<size_t>(j * lanes) + i;
        return Whole ? reinterpret_cast<const float*>(b[l / 8] + behind[l % 8]) : held(l) + p;
      };
      transpose_four<V>(at, right);
      TROUPE_UNROLL for (size_t q = 0; q < 4; ++q) add_term(right[q], j, q);
    }
    TROUPE_UNROLL for (int i = 0; i < bases; ++i) a[i] += 4;
    TROUPE_UNROLL for (int i = 0; i < eights; ++i) b[i] += 4 * sizeof(float);
  }
  for (size_t q = 0; p < k; ++p, ++q)
    TROUPE_UNROLL for (int j = 0; j < Vectors; ++j) {
      float values[V::lanes];
      for (size_t i = 0; i < V::lanes; ++i)
        values[i] = held(static_cast<size_t>(j * lanes) + i)[p];
      add_term(V::load(values), j, q);
    }
  const auto some = V::some(count - (Vectors - 1) * V::lanes);
  float* out = what.out + column;
  TROUPE_UNROLL for (int i = 0; i < Rows; ++i, out += what.out_row)
    TROUPE_UNROLL for (int j = 0; j < Vectors; ++j) {
    float* const to = out + j * lanes;
    if (j + 1 < Vectors)
      V::store(to, what.adds ? V::add(V::load(to), sums[i][j]) : sums[i][j]);
    else
      V::store(to, what.adds ? V::add(V::load(to, some), sums[i][j]) : sums[i][j], some);
  }
}

template <class V, int Rows, int Vectors>
void run_lines_strip(const strip& what) {
  constexpr size_t step = Vectors * V::lanes;
  size_t j = 0;
  for (; j + step <= what.columns; j += step)
    run_lines_tile<V, Rows, Vectors, true>(what, j, step);
  for (; Vectors > 1 && j + V::lanes <= what.columns; j += V::lanes)
    run_lines_tile<V, Rows, 1, true>(what, j, V::lanes);
  if (j < what.columns)
    run_lines_tile<V, Rows, 1, false>(what, j, what.columns - j);
}

template <class V, int (*VectorsOf)(int), int... Rows>
void run_lines(size_t rows, const strip& what) {
  using function = void (*)(const strip&);
  static constexpr function of[] = {run_lines_strip<V, Rows, VectorsOf(Rows)>...};
  of[rows - 1](what);
}

/// Lines of B^T into one panel (kernels::transpose).
template <class V, int Panel>
void transpose(const float* from, size_t row, size_t columns, size_t k, float* to) {
  constexpr size_t lanes = V::lanes, width = Panel * lanes;
  for (size_t h = 0; h < width; h += lanes, from += lanes * row, to += lanes) {
    const size_t left = columns <= h ? 0 : columns - h, some = left < lanes ? left : lanes;
    const auto move = [&](const auto& at) __attribute__((always_inline)) {
      size_t p = 0;
      for (; p + 4 <= k; p += 4) {
        typename V::type four[4];
        transpose_four<V>(
          [&](size_t i) __attribute__((always_inline)) { return from + at(i) * row + p; }, four);
        TROUPE_UNROLL for (size_t q = 0; q < 4; ++q) V::store(to + (p + q) * width, four[q]);
      }
      for (; p < k; ++p)
        for (size_t i = 0; i < lanes; ++i)
          to[p * width + i] = from[at(i) * row + p];
    };
    if (some == lanes)
      move([](size_t i) { return i; });
    else if (some > 0)
      move([some](size_t i) { return i < some ? i : some - 1; });
  }
}

} // namespace

} // namespace troupe::products
