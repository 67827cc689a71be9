// Matrix products of float32, with the same bits on every processor.
//
// The law: an element of a product is a sum over k in blocks of 256 terms. The value of a block is one chain of fused
// multiply-adds in ascending k, from +0: s = fma(a(i, k), b(k, j), s). The values of blocks are added in order, to what
// was there before if the product is added.
//
// fma is correctly rounded wherever it exists, so neither instruction set nor compiler, tiles, packing, threads or the
// rest of the call can be seen in a result. Rows and columns may therefore be cut anywhere; k only at multiples of 256.
//
// The error of an element is at most g(min(k, 256) + blocks) times the sum of |a(i, k) b(k, j)|, with
// g(n) = n u / (1 - n u) and u = 2^-24 (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, ch. 3):
// as exact in practice as a good BLAS, which adds in blocks too.
//
// Everything here computes on the calling thread and may be called from any number of threads at once. Operands and
// results belong to the caller. A thread keeps scratch memory of less than 1 MB. Where all of a product's memory is a
// device's (models/device/device_memory.hpp), the device computes.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace troupe::products {

/// A matrix in the caller's memory: element (i, j) is data[i * row_stride + j * column_stride]. One of the strides is 1.
struct matrix_view {
  const float* data = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  size_t row_stride = 0;
  size_t column_stride = 1;

  matrix_view transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// Rows that follow each other without a gap.
inline matrix_view matrix_of(const float* data, size_t rows, size_t columns) {
  return {data, rows, columns, columns, 1};
}

/// Where a product goes: rows that are `row_stride` >= columns apart. It may not overlap an operand.
struct result_view {
  float* data = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  size_t row_stride = 0;
  bool adds = false; ///< to what is there; else that is only written over
};

inline result_view result_of(float* data, size_t rows, size_t columns, bool adds = false) {
  return {data, rows, columns, columns, adds};
}

/// out = a b, or out + a b. Throws std::invalid_argument, naming the shapes, when they do not fit.
void multiply(const matrix_view& a, const matrix_view& b, const result_view& out);

/// Products of one shape whose operands lie at equal distances: `outer` times `inner` of them.
struct repetition {
  size_t outer = 1;
  size_t inner = 1;
  std::array<size_t, 2> a{}; ///< from one to the next, by outer and by inner
  std::array<size_t, 2> b{};
  std::array<size_t, 2> out{};
};

/// `a`, `b` and `out` are those of the first product.
void multiply_each(const matrix_view& a, const matrix_view& b, const result_view& out,
                   const repetition& all);

/// Instruction sets with kernels of their own. Bits do not depend on it.
enum class instruction_set { portable, avx2, avx512, neon };

/// Whether this program and this processor have it.
bool has(instruction_set set);

/// Those that are here, the fastest first.
std::vector<instruction_set> instructions_here();

/// What products use from now on, in this process; the fastest at first.
/// Throws std::invalid_argument for one that is not here.
void use(instruction_set set);
instruction_set in_use();

} // namespace troupe::products

namespace troupe {

template <>
struct name_table<products::instruction_set> {
  static constexpr std::array entries{named(products::instruction_set::portable, "portable"),
                                      named(products::instruction_set::avx2, "avx2"),
                                      named(products::instruction_set::avx512, "avx512"),
                                      named(products::instruction_set::neon, "neon")};
};

} // namespace troupe
