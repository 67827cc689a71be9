#include "models/layers/single_output.hpp"

#include "models/base/multiversion.hpp"
#include "models/device/device_queue.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace troupe {

namespace {

/// Lanes as the compiler's own vectors: it splits them where the machine's are shorter.
template <size_t Count>
struct vector_of {
  using type __attribute__((vector_size(Count * sizeof(float)))) = float;
};
using lanes = vector_of<lane_count>::type;
using half_lanes = vector_of<lane_count / 2>::type;
using quarter_lanes = vector_of<lane_count / 4>::type;
using lane_mask __attribute__((vector_size(lane_count * sizeof(int32_t)))) = int32_t;

constexpr size_t cache_line_bytes = 64;

/// Rows that are worked on at once: their sums do not wait for each other.
constexpr size_t rows_at_once = 4;

/// Columns whose sums over the rows stay in registers, in lanes.
constexpr size_t lanes_at_once = 7;

TROUPE_ALWAYS_INLINE void load(const float* from, lanes& into) {
  std::memcpy(&into, from, sizeof(into));
}

/// Fewer than 16 values, and zeros behind them.
TROUPE_ALWAYS_INLINE void load_some(const float* from, size_t count, lanes& into) {
  float values[lane_count] = {};
  for (size_t l = 0; l < count; ++l)
    values[l] = from[l];
  std::memcpy(&into, values, sizeof(into));
}

/// Set for the first `count` lanes.
TROUPE_ALWAYS_INLINE void fill_mask(size_t count, lane_mask& mask) {
  for (size_t l = 0; l < lane_count; ++l)
    mask[l] = l < count ? -1 : 0;
}

/// Zero wherever the mask is not set, whatever was there.
TROUPE_ALWAYS_INLINE void keep(const lane_mask& mask, lanes& values) {
  lane_mask bits;
  std::memcpy(&bits, &values, sizeof(bits));
  bits &= mask;
  std::memcpy(&values, &bits, sizeof(bits));
}

/// Lanes l + l + 8, then + 4.
TROUPE_ALWAYS_INLINE void fold(const lanes& values, quarter_lanes& out) {
  const half_lanes half = __builtin_shufflevector(values, values, 0, 1, 2, 3, 4, 5, 6, 7) +
                          __builtin_shufflevector(values, values, 8, 9, 10, 11, 12, 13, 14, 15);
  out = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
        __builtin_shufflevector(half, half, 4, 5, 6, 7);
}

/// Sums of four times 16 lanes, each in the order of `combine_lanes`.
TROUPE_ALWAYS_INLINE void sum_four(const lanes* values, quarter_lanes& out) {
  quarter_lanes a, b, c, d;
  fold(values[0], a);
  fold(values[1], b);
  fold(values[2], c);
  fold(values[3], d);
  const quarter_lanes ab =
    __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  const quarter_lanes cd =
    __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
  out = __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}

/// Asks for `count` values that lie `ahead` values behind `from`; beyond the end of the memory nothing happens.
TROUPE_ALWAYS_INLINE void fetch(const float* from, size_t ahead, size_t count) {
  const auto begin = reinterpret_cast<uintptr_t>(from) + ahead * sizeof(float);
  for (size_t offset = 0; offset < count * sizeof(float); offset += cache_line_bytes)
    __builtin_prefetch(reinterpret_cast<const void*>(begin + offset), 0, 3);
}

/// Rows that both products find in a first-level cache: each of the two asks for a half of those that come next, so
/// that memory is read throughout.
TROUPE_ALWAYS_INLINE bool is_piece(size_t rows, size_t inputs) {
  return rows * inputs <= single_piece_values;
}

/// A row of weights. Behind its last whole 16 follow `rest` values, in the first lanes of `last`.
struct weight_row {
  const float* values;
  size_t inputs;
  size_t rest;
  lanes last;
  lane_mask is_last;
};

/// Products of four rows with a row of weights. `x_end`: of the memory that may be read.
TROUPE_ALWAYS_INLINE void multiply_rows(const weight_row& weight, const float* x,
                                        const float* x_end, size_t row_count, float* products) {
  const auto inputs = weight.inputs;
  lanes sums[rows_at_once] = {};
  lanes w;
  lanes values;
  size_t j = 0;
  for (; j + lane_count <= inputs; j += lane_count) {
    load(weight.values + j, w);
    for (size_t r = 0; r < rows_at_once; ++r) {
      load(x + std::min(r, row_count - 1) * inputs + j, values);
      sums[r] += w * values;
    }
  }
  const float* const last_row = x + (row_count - 1) * inputs + j;
  if (weight.rest > 0 && last_row + lane_count <= x_end) {
    for (size_t r = 0; r < rows_at_once; ++r) {
      load(x + std::min(r, row_count - 1) * inputs + j, values);
      keep(weight.is_last, values);
      sums[r] += weight.last * values;
    }
  } else if (weight.rest > 0) {
    for (size_t r = 0; r < rows_at_once; ++r) {
      load_some(x + std::min(r, row_count - 1) * inputs + j, weight.rest, values);
      sums[r] += weight.last * values;
    }
  }
  quarter_lanes totals;
  sum_four(sums, totals);
  std::memcpy(products, &totals, sizeof(totals));
}

TROUPE_MULTIVERSION void multiply_all(const float* weight, const float* x, float* y, size_t rows,
                                      size_t inputs) {
  const auto rest = inputs % lane_count;
  weight_row row{weight, inputs, rest, {}, {}};
  load_some(weight + inputs - rest, rest, row.last);
  fill_mask(rest, row.is_last);
  const float* const end = x + rows * inputs;
  float products[rows_at_once];
  const size_t share = is_piece(rows, inputs) ? 2 : 1;
  for (size_t i = 0; i < rows; i += rows_at_once) {
    const auto count = std::min(rows_at_once, rows - i);
    fetch(x, single_piece_values + i * inputs / share, count * inputs / share);
    if (count == rows_at_once)
      multiply_rows(row, x + i * inputs, end, rows_at_once, products);
    else
      multiply_rows(row, x + i * inputs, end, count, products);
    for (size_t r = 0; r < count; ++r)
      y[i + r] = products[r];
  }
}

/// What the sums over rows are taken of: columns of x from `x` on, times `delta`.
struct column_sums {
  const float* x;
  const float* x_end; ///< of the memory that may be read
  const float* delta;
  float* out;
  size_t rows;
  size_t inputs;
  bool fetches; ///< in the first sweep over a piece
};

/// Adds the sums of `Whole` x 16 columns, and of `rest` more.
template <size_t Whole, bool HasRest>
TROUPE_ALWAYS_INLINE void add_columns(const column_sums& work, size_t rest) {
  lanes sums[Whole + 1] = {};
  lanes values;
  lane_mask is_rest;
  fill_mask(rest, is_rest);
  for (size_t i = 0; i < work.rows; ++i) {
    const float* const from = work.x + i * work.inputs;
    const float factor = work.delta[i];
    if (work.fetches)
      fetch(work.x, single_piece_values * 3 / 2 + i * work.inputs / 2, work.inputs / 2);
    for (size_t k = 0; k < Whole; ++k) {
      load(from + k * lane_count, values);
      sums[k] += factor * values;
    }
    if constexpr (HasRest) {
      if (from + (Whole + 1) * lane_count <= work.x_end) {
        load(from + Whole * lane_count, values);
        keep(is_rest, values);
      } else {
        load_some(from + Whole * lane_count, rest, values);
      }
      sums[Whole] += factor * values;
    }
  }
  for (size_t k = 0; k < Whole; ++k) {
    load(work.out + k * lane_count, values);
    values += sums[k];
    std::memcpy(work.out + k * lane_count, &values, sizeof(values));
  }
  for (size_t l = 0; HasRest && l < rest; ++l)
    work.out[Whole * lane_count + l] += sums[Whole][l];
}

/// `whole` lanes, at most `Most`, in one sweep.
template <size_t Most>
TROUPE_ALWAYS_INLINE void add_last_columns(const column_sums& work, size_t whole, size_t rest) {
  if constexpr (Most > 0)
    if (whole < Most)
      return add_last_columns<Most - 1>(work, whole, rest);
  if (rest > 0)
    return add_columns<Most, true>(work, rest);
  if constexpr (Most > 0)
    add_columns<Most, false>(work, 0);
}

TROUPE_MULTIVERSION void add_all_columns(const float* x, const float* delta, float* out,
                                         size_t rows, size_t inputs) {
  column_sums work{x, x + rows * inputs, delta, out, rows, inputs, is_piece(rows, inputs)};
  auto left = inputs;
  for (; left >= (lanes_at_once + 1) * lane_count; left -= lanes_at_once * lane_count) {
    add_columns<lanes_at_once, false>(work, 0);
    work.fetches = false;
    work.x += lanes_at_once * lane_count;
    work.out += lanes_at_once * lane_count;
  }
  add_last_columns<lanes_at_once>(work, left / lane_count, left % lane_count);
}

} // namespace

void single_output_forward(std::span<const float> weight, std::span<const float> x,
                           std::span<float> y) {
  if (auto* const device = device_of(y))
    return device->run("single_output", y.size(), {weight, x, y, weight.size()});
  multiply_all(weight.data(), x.data(), y.data(), y.size(), weight.size());
}

void add_single_output_gradient(std::span<const float> x, std::span<const float> delta,
                                std::span<float> gradient_out) {
  if (auto* const device = device_of(gradient_out))
    return device->run("single_output_gradient", gradient_out.size(),
                       {x, delta, gradient_out, delta.size()});
  add_all_columns(x.data(), delta.data(), gradient_out.data(), delta.size(), gradient_out.size());
}

} // namespace troupe
