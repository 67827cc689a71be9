// What an instruction set brings to products (products.hpp): how it computes a strip of a result, and how operands are
// laid out for that.
//
// A source of kernels is compiled for its instruction set. So it includes this header, product_strip.hpp,
// product_lines.hpp and intrinsics alone, and only its table is outside an unnamed namespace. The linker keeps one
// copy of an inline function of many sources: it might run on a processor that lacks the set. scripts/check-laws sees
// to it.

#pragma once

#include <cstddef>

namespace troupe::products {

/// Terms of a block: an element's chain of fused multiply-adds is at most so long (products.hpp). Longer chains are less
/// exact, and shorter ones write a result more often; the number is part of every result.
inline constexpr size_t block_terms = 256;

/// Some rows of a result, all its columns, and one block of k.
///
/// Element (i, p) of A is a[i * a_row + p] or, if A lies by columns, a[i + p * a_row]. Element (p, j) of B is
/// b[j / panel * b_panel + p * b_k + j % panel], where `panel` is the instruction set's.
struct strip {
  size_t k;
  const float* a;
  size_t a_row;
  bool a_by_columns;
  const float* b;
  size_t b_panel;
  size_t b_k;
  bool is_padded; ///< a vector of B may be read to its end
  float* out;
  size_t out_row;
  size_t columns;
  bool adds; ///< to what `out` has; else `out` is only written
};

/// The table of an instruction set.
struct kernels {
  const char* name;
  size_t panel;      ///< columns of a packed panel of B
  size_t rows_max;   ///< of a strip
  size_t left_width; ///< floats that one k of a packed strip of A takes
  void (*run)(size_t rows, const strip& what);
  size_t lines_rows_max; ///< of a strip whose B lies by lines; 0: B has to be transposed
  /// The same where element (p, j) of B is b[j * b_k + p] and A lies by rows.
  void (*run_lines)(size_t rows, const strip& what);
  /// to[p * panel + j] = from[j * row + p] for j < columns <= panel, p < k; what is behind them is unspecified.
  void (*transpose)(const float* from, size_t row, size_t columns, size_t k, float* to);
  /// to[(j / panel * k + p) * panel + j % panel] = from[p * row + j] for j < columns; what is behind them is unspecified.
  void (*copy)(const float* from, size_t row, size_t columns, size_t k, float* to);
  /// to[p * left_width + i] = from[p * row + i] for i < count <= left_width; what is behind them is unspecified.
  void (*copy_left)(const float* from, size_t row, size_t count, size_t k, float* to);
};

extern const kernels portable_kernels;
#if defined(__x86_64__)
extern const kernels avx2_kernels;
extern const kernels avx512_kernels;
#elif defined(__aarch64__)
extern const kernels neon_kernels;
#endif

} // namespace troupe::products
