// The micro-kernel of products, for any vector V: a tile of the result stays in registers while k goes by.
//
// V has `type`, `lanes`, `unrolled` (terms at a time), `masks_are_free` (loads under a mask cost nothing), some(n) (the
// mask of n lanes), zero, load, store, all, fma, add. Included by one source an instruction set (product_kernels.hpp says
// why everything here is in an unnamed namespace).

#pragma once

#include "models/math/product_kernels.hpp"

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

} // namespace

} // namespace troupe::products
