#include "troupe/models/layers/narrow_dense.hpp"

#include "troupe/models/lanes.hpp"
#include "troupe/models/multiversion.hpp"

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

/// Rows that are worked on at once: their sums do not wait for each other.
constexpr size_t rows_at_once = 4;

/// Columns whose sums over the rows stay in registers, in lanes.
constexpr size_t lanes_at_once = 4;

TROUPE_ALWAYS_INLINE void load(const float* from, lanes& into) {
  std::memcpy(&into, from, sizeof(into));
}

/// The values before `end`, and zeros for what lies behind it.
TROUPE_ALWAYS_INLINE void load_before(const float* end, const float* from, lanes& into) {
  into = lanes{};
  for (size_t l = 0; from + l < end && l < lane_count; ++l)
    into[l] = from[l];
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

/// A row of weights, and what the last lanes of a row may hold.
struct weight_row {
  const float* values;
  size_t inputs;
  lane_mask last; ///< of the lanes behind the last whole 16
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
  if (j < inputs) {
    load_before(weight.values + inputs, weight.values + j, w);
    for (size_t r = 0; r < rows_at_once; ++r) {
      const float* const from = x + std::min(r, row_count - 1) * inputs + j;
      if (from + lane_count <= x_end)
        load(from, values);
      else
        load_before(x_end, from, values);
      keep(weight.last, values);
      sums[r] += w * values;
    }
  }
  quarter_lanes totals;
  sum_four(sums, totals);
  std::memcpy(products, &totals, sizeof(totals));
}

TROUPE_MULTIVERSION void forward_output(const float* weight, const float* x, float* y, size_t rows,
                                        size_t inputs, size_t outputs) {
  weight_row row{weight, inputs, {}};
  fill_mask(inputs % lane_count, row.last);
  const float* const end = x + rows * inputs;
  float products[rows_at_once];
  for (size_t i = 0; i < rows; i += rows_at_once) {
    const auto count = std::min(rows_at_once, rows - i);
    if (count == rows_at_once)
      multiply_rows(row, x + i * inputs, end, rows_at_once, products);
    else
      multiply_rows(row, x + i * inputs, end, count, products);
    for (size_t r = 0; r < count; ++r)
      y[(i + r) * outputs] = products[r];
  }
}

/// Sums over the rows of `Count` x 16 columns.
template <size_t Count>
TROUPE_ALWAYS_INLINE void add_columns(const float* x, const float* delta, float* sums_out,
                                      size_t rows, size_t inputs, size_t outputs) {
  lanes sums[Count] = {};
  lanes values;
  for (size_t i = 0; i < rows; ++i) {
    const float factor = delta[i * outputs];
    for (size_t k = 0; k < Count; ++k) {
      load(x + i * inputs + k * lane_count, values);
      sums[k] += factor * values;
    }
  }
  for (size_t k = 0; k < Count; ++k) {
    load(sums_out + k * lane_count, values);
    values += sums[k];
    std::memcpy(sums_out + k * lane_count, &values, sizeof(values));
  }
}

/// The last columns, fewer than 16.
TROUPE_ALWAYS_INLINE void add_last_columns(const float* x, const float* x_end, const float* delta,
                                           float* sums_out, size_t rows, size_t inputs,
                                           size_t outputs, size_t count) {
  lane_mask mask;
  fill_mask(count, mask);
  lanes sums{};
  lanes values;
  for (size_t i = 0; i < rows; ++i) {
    const float* const from = x + i * inputs;
    if (from + lane_count <= x_end)
      load(from, values);
    else
      load_before(x_end, from, values);
    keep(mask, values);
    sums += delta[i * outputs] * values;
  }
  for (size_t l = 0; l < count; ++l)
    sums_out[l] += sums[l];
}

TROUPE_MULTIVERSION void gradient_of_output(const float* x, const float* delta, float* sums_out,
                                            size_t rows, size_t inputs, size_t outputs) {
  constexpr size_t wide = lanes_at_once * lane_count;
  size_t j = 0;
  for (; j + wide <= inputs; j += wide)
    add_columns<lanes_at_once>(x + j, delta, sums_out + j, rows, inputs, outputs);
  for (; j + lane_count <= inputs; j += lane_count)
    add_columns<1>(x + j, delta, sums_out + j, rows, inputs, outputs);
  if (j < inputs)
    add_last_columns(x + j, x + rows * inputs, delta, sums_out + j, rows, inputs, outputs,
                     inputs - j);
}

} // namespace

void narrow_forward(std::span<const float> weight, std::span<const float> x, std::span<float> y,
                    size_t inputs, size_t outputs) {
  for (size_t k = 0; k < outputs; ++k)
    forward_output(weight.data() + k * inputs, x.data(), y.data() + k, y.size() / outputs, inputs,
                   outputs);
}

void narrow_gradient(std::span<const float> x, std::span<const float> delta,
                     std::span<float> gradient_out, size_t inputs, size_t outputs, bool adds) {
  if (!adds)
    std::ranges::fill(gradient_out.first(inputs * outputs), 0.0f);
  for (size_t k = 0; k < outputs; ++k)
    gradient_of_output(x.data(), delta.data() + k, gradient_out.data() + k * inputs,
                       delta.size() / outputs, inputs, outputs);
}

} // namespace troupe
