// The micro-kernel of products, for any vector V: a tile of the result stays in registers while k goes by.
//
// V has `type`, `lanes`, `unrolled` (terms at a time), `masks_are_free` (loads under a mask cost nothing), some(n) (the
// mask of n lanes), zero, load, store, all, fma, add; and to transpose, of each four lanes: fours (four values of every
// fourth line), low, high (floats of two vectors in turn), low_pairs, high_pairs. Included by one source an instruction
// set (product_kernels.hpp says why everything here is in an unnamed namespace).

#pragma once

#include "troupe/models/math/product_kernels.hpp"

#define TROUPE_UNROLL _Pragma("GCC unroll 16")

namespace troupe::products {

namespace {

/// Rows x Vectors of the result from a column on; of the last vector, what `columns` leaves of it. A tile of more
/// vectors than a panel begins with a panel. `Whole`: B may be read to the end of the last vector.
template <class V, int Panel, int Rows, int Vectors, bool ByColumns, bool Whole>
void run_tile(const strip& what, size_t column, size_t columns) {
  using vector = typename V::type;
  constexpr size_t lanes = V::lanes, width = Panel * lanes;
  // One pointer for three rows of A: all addresses fit what an instruction can say.
  constexpr int bases = ByColumns ? 1 : (Rows + 2) / 3, panels = (Vectors + Panel - 1) / Panel;
  const size_t k = what.k, row = what.a_row, b_k = what.b_k;
  vector sums[Rows][Vectors];
  TROUPE_UNROLL for (int i = 0; i < Rows; ++i) TROUPE_UNROLL for (int j = 0; j < Vectors; ++j)
    sums[i][j] = V::zero();
  const float* a[bases];
  TROUPE_UNROLL for (int i = 0; i < bases; ++i) a[i] = what.a + static_cast<size_t>(3 * i) * row;
  const float* b[panels];
  TROUPE_UNROLL for (int i = 0; i < panels; ++i) b[i] =
    what.b + (column / width + static_cast<size_t>(i)) * what.b_panel + column % width;
  const size_t in_last = columns - (Vectors - 1) * lanes;
  decltype(V::some(0)) last{};
  if constexpr (!Whole)
    last = V::some(in_last);
  const auto add_terms = [&](size_t p) __attribute__((always_inline)) {
    vector right[Vectors];
    TROUPE_UNROLL for (int j = 0; j < Vectors; ++j) {
      const float* from = b[j / Panel] + static_cast<size_t>(j % Panel) * lanes;
      right[j] = Whole || j + 1 < Vectors ? V::load(from) : V::load(from, last);
    }
    TROUPE_UNROLL for (int i = 0; i < Rows; ++i) {
      const vector left =
        V::all(ByColumns ? a[0][i] : a[i / 3][static_cast<size_t>(i % 3) * row + p]);
      TROUPE_UNROLL for (int j = 0; j < Vectors; ++j) sums[i][j] =
        V::fma(left, right[j], sums[i][j]);
    }
    TROUPE_UNROLL for (int i = 0; i < panels; ++i) {
      // Weights may come from memory: 4 KiB ahead.
      TROUPE_UNROLL for (size_t l = 0; l < width; l += 16) __builtin_prefetch(b[i] + 1024 + l);
      b[i] += b_k;
    }
    if (ByColumns)
      a[0] += row;
  };
  const auto move_on = [&](size_t terms) __attribute__((always_inline)) {
    if (!ByColumns)
      TROUPE_UNROLL for (int i = 0; i < bases; ++i) a[i] += terms;
  };
  size_t p = 0;
  for (; p + V::unrolled <= k; p += V::unrolled) {
    TROUPE_UNROLL for (size_t q = 0; q < V::unrolled; ++q) add_terms(q);
    move_on(V::unrolled);
  }
  for (; p < k; ++p) {
    add_terms(0);
    move_on(1);
  }
  if constexpr (Whole)
    last = V::some(in_last); // not before: while sums are taken there is no register for it
  float* out = what.out + column;
  const size_t out_row = what.out_row;
  const bool adds = what.adds, is_full = in_last == lanes;
  TROUPE_UNROLL for (int i = 0; i < Rows; ++i, out += out_row) {
    float* const end = out + (Vectors - 1) * lanes;
    if (adds) {
      TROUPE_UNROLL for (int j = 0; j + 1 < Vectors; ++j) sums[i][j] =
        V::add(V::load(out + static_cast<size_t>(j) * lanes), sums[i][j]);
      sums[i][Vectors - 1] = V::add(V::load(end, last), sums[i][Vectors - 1]);
    }
    TROUPE_UNROLL for (int j = 0; j + 1 < Vectors; ++j)
      V::store(out + static_cast<size_t>(j) * lanes, sums[i][j]);
    if (is_full)
      V::store(end, sums[i][Vectors - 1]);
    else
      V::store(end, sums[i][Vectors - 1], last);
  }
}

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
  // In bytes: eight lines from one pointer and four registers.
  const float* const first = what.b + column * what.b_k;
  const size_t line = what.b_k * sizeof(float), line3 = 3 * line, line5 = 5 * line,
               line7 = 7 * line;
  const char* b[eights];
  TROUPE_UNROLL for (int i = 0; i < eights; ++i) b[i] =
    reinterpret_cast<const char*>(first) + static_cast<size_t>(8 * i) * line;
  const auto line_at = [&](size_t i) __attribute__((always_inline)) {
    const char* from = b[i / 8];
    switch (i % 8) {
    case 1:
      from += line;
      break;
    case 2:
      from += 2 * line;
      break;
    case 3:
      from += line3;
      break;
    case 4:
      from += 4 * line;
      break;
    case 5:
      from += line5;
      break;
    case 6:
      from += 2 * line3;
      break;
    case 7:
      from += line7;
      break;
    default:
      break;
    }
    return reinterpret_cast<const float*>(from);
  };
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
        return Whole ? line_at(static_cast<size_t>(j * lanes) + i)
                     : held(static_cast<size_t>(j * lanes) + i) + p;
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

template <class V, int Panel, int Rows, int Vectors, bool ByColumns>
void run_masked(const strip& what, size_t column, size_t columns) {
  if (!V::masks_are_free && (what.is_padded || columns == Vectors * V::lanes))
    run_tile<V, Panel, Rows, Vectors, ByColumns, !V::masks_are_free>(what, column, columns);
  else
    run_tile<V, Panel, Rows, Vectors, ByColumns, false>(what, column, columns);
}

template <class V, int Panel, int Rows, int Vectors>
void run_either(const strip& what, size_t column, size_t columns) {
  if (what.a_by_columns)
    run_masked<V, Panel, Rows, Vectors, true>(what, column, columns);
  else
    run_masked<V, Panel, Rows, Vectors, false>(what, column, columns);
}

/// From a column on: tiles of so many vectors, then of half as many, until none is left.
template <class V, int Panel, int Rows, int Vectors>
void run_from(const strip& what, size_t column) {
  constexpr size_t step = Vectors * V::lanes;
  for (; column + step <= what.columns; column += step)
    run_either<V, Panel, Rows, Vectors>(what, column, step);
  if (column == what.columns)
    return;
  if constexpr (Vectors > 1)
    if (what.columns - column <= step - V::lanes)
      return run_from<V, Panel, Rows, Vectors / 2>(what, column);
  run_either<V, Panel, Rows, Vectors>(what, column, what.columns - column);
}

template <class V, int Panel, int Rows, int Vectors>
void run_strip(const strip& what) {
  run_from<V, Panel, Rows, Vectors>(what, 0);
}

/// The kernels::run of strips of `Rows` rows, each in tiles of VectorsOf(Rows) vectors.
template <class V, int Panel, int (*VectorsOf)(int), int... Rows>
void run_rows(size_t rows, const strip& what) {
  using function = void (*)(const strip&);
  static constexpr function of[] = {run_strip<V, Panel, Rows, VectorsOf(Rows)>...};
  of[rows - 1](what);
}

/// Lines of B into panels (kernels::copy).
template <class V, int Panel>
void copy_lines(const float* from, size_t row, size_t columns, size_t k, float* to) {
  constexpr size_t lanes = V::lanes, width = Panel * lanes;
  for (size_t p = 0; p < k; ++p, from += row, to += width) {
    size_t j = 0;
    float* panel = to;
    for (; j + width <= columns; j += width, panel += width * k)
      TROUPE_UNROLL for (size_t v = 0; v < width; v += lanes)
        V::store(panel + v, V::load(from + j + v));
    if (j == columns)
      continue;
    for (size_t v = 0; j + v < columns; v += lanes) {
      const size_t at = j + v;
      const auto values =
        at + lanes <= columns ? V::load(from + at) : V::load(from + at, V::some(columns - at));
      V::store(panel + v, values);
    }
  }
}

/// A strip of A that lies by columns, its lines side by side (kernels::copy_left).
template <class V, int Vectors>
void copy_left(const float* from, size_t row, size_t count, size_t k, float* to) {
  constexpr size_t lanes = V::lanes;
  const auto some = V::some(count - (Vectors - 1) * lanes);
  for (size_t p = 0; p < k; ++p, from += row, to += Vectors * lanes) {
    TROUPE_UNROLL for (size_t v = 0; v + 1 < Vectors; ++v)
      V::store(to + v * lanes, V::load(from + v * lanes));
    V::store(to + (Vectors - 1) * lanes, V::load(from + (Vectors - 1) * lanes, some));
  }
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
