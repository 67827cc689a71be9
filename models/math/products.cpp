#include "models/math/products.hpp"

#include "models/base/buffer.hpp"
#include "models/device/device_queue.hpp"
#include "models/math/product_kernels.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace troupe::products {

namespace {

/// Rows of A that are gone through together: 512 x 256 values stay in a second-level cache.
constexpr size_t rows_at_once = 512;

/// Bytes of B that are packed and then used by all strips: they stay in a second-level cache beside the rows of A.
constexpr size_t group_bytes = 131'072;

enum scratch_slot { left_side, right_side };

/// Of this thread.
float* scratch(scratch_slot slot, size_t size) {
  static thread_local workspace memory;
  return memory.slot(slot, size).data();
}

size_t padded(const kernels& use, size_t columns) {
  return (columns + use.panel - 1) / use.panel * use.panel;
}

/// Columns of B that are gone through by every strip in turn: whole panels.
size_t group_columns(const kernels& use, size_t k) {
  return std::max<size_t>(group_bytes / (k * use.panel * sizeof(float)), 1) * use.panel;
}

/// A block of B, k x columns, into panels.
void pack_panels(const kernels& use, const matrix_view& b, float* to) {
  if (b.column_stride == 1)
    return use.copy(b.data, b.row_stride, b.columns, b.rows, to);
  for (size_t j = 0; j < b.columns; j += use.panel)
    use.transpose(b.data + j * b.column_stride, b.column_stride, std::min(use.panel, b.columns - j),
                  b.rows, to + j * b.rows);
}

/// Calls use(begin, count) for each block of k.
template <class Use>
void for_each_block(size_t k, const Use& use) {
  for (size_t p = 0; p < k; p += block_terms)
    use(p, std::min(block_terms, k - p));
}

/// Some of a matrix.
matrix_view part_of(const matrix_view& x, size_t row, size_t rows, size_t column, size_t columns) {
  return {x.data + row * x.row_stride + column * x.column_stride, rows, columns, x.row_stride,
          x.column_stride};
}

/// Rows cut into strips of nearly equal height.
class strips {
public:
  strips(const kernels& use, size_t rows)
    : rows_(rows), count_((rows + use.rows_max - 1) / use.rows_max) {}
  size_t rows() const { return rows_; }
  size_t count() const { return count_; }
  size_t begin(size_t t) const { return rows_ / count_ * t + std::min(t, rows_ % count_); }
  size_t height(size_t t) const { return begin(t + 1) - begin(t); }

private:
  size_t rows_;
  size_t count_;
};

/// A block of A as kernels read it.
struct left {
  const float* data;
  size_t strip_stride; ///< between packed strips; 0: strips follow from rows
  size_t row_stride;
  bool by_columns;

  const float* strip(size_t begin, size_t t) const {
    return data + (strip_stride > 0 ? t * strip_stride : by_columns ? begin : begin * row_stride);
  }
};

/// Where it lies, or copied: by columns if that pays, by rows if they would meet in a cache's sets.
left laid_out(const kernels& use, const matrix_view& a, const strips& cut, size_t columns) {
  const auto k = a.columns;
  const bool few_uses = columns <= 2 * use.panel;
  if (a.column_stride == 1) {
    if (few_uses || a.row_stride % 512 != 0 || a.rows <= 4)
      return {a.data, 0, a.row_stride, false};
    const auto row = k + 16;
    auto* const to = scratch(left_side, a.rows * row);
    for (size_t i = 0; i < a.rows; ++i)
      std::copy_n(a.data + i * a.row_stride, k, to + i * row);
    return {to, 0, row, false};
  }
  if (few_uses || a.rows <= 2)
    return {a.data, 0, a.column_stride, true};
  const auto size = use.left_width * k;
  auto* const to = scratch(left_side, cut.count() * size);
  for (size_t t = 0; t < cut.count(); ++t)
    use.copy_left(a.data + cut.begin(t), a.column_stride, cut.height(t), k, to + t * size);
  return {to, size, use.left_width, true};
}

/// Few rows of A by B^T: one strip, nothing is copied.
void multiply_lines(const kernels& use, const matrix_view& a, const matrix_view& b,
                    const result_view& out) {
  for_each_block(a.columns, [&](size_t p, size_t k) {
    use.run_lines(a.rows, {k, a.data + p, a.row_stride, false, b.data + p, 0, b.column_stride,
                           false, out.data, out.row_stride, b.columns, out.adds || p > 0});
  });
}

/// The other way round: few columns of B.
void multiply_columns(const kernels& use, const matrix_view& a, const matrix_view& b,
                      const result_view& out) {
  for (size_t i = 0; i < a.rows; i += rows_at_once) {
    const auto rows = std::min(rows_at_once, a.rows - i);
    auto* const turned = scratch(right_side, b.columns * rows);
    const auto for_each_element = [&](const auto& use_both) {
      for (size_t r = 0; r < rows; ++r)
        for (size_t j = 0; j < b.columns; ++j)
          use_both(out.data[(i + r) * out.row_stride + j], turned[j * rows + r]);
    };
    if (out.adds)
      for_each_element([](float x, float& y) { y = x; });
    multiply_lines(use, b.transposed(), part_of(a, i, rows, 0, a.columns).transposed(),
                   {turned, b.columns, rows, rows, out.adds});
    for_each_element([](float& x, float y) { x = y; });
  }
}

/// Whether lines of B are copied into panels first: so many strips read them, or they are so far apart.
bool pays(const kernels& use, const strips& cut, size_t row_stride) {
  return cut.count() > 1 && row_stride > 2 * use.panel && (cut.count() > 6 || row_stride >= 1024);
}

/// All strips by some columns of B, which `what` describes.
void run_strips(const kernels& use, const strips& cut, const left& a, strip what) {
  auto* const out = what.out;
  what.a_row = a.row_stride;
  what.a_by_columns = a.by_columns;
  for (size_t t = 0; t < cut.count(); ++t) {
    what.a = a.strip(cut.begin(t), t);
    what.out = out + cut.begin(t) * what.out_row;
    use.run(cut.height(t), what);
  }
}

std::string shape_of(size_t rows, size_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

void require_fit(const matrix_view& a, const matrix_view& b, const result_view& out) {
  if (a.columns != b.rows || a.rows != out.rows || b.columns != out.columns)
    throw std::invalid_argument("matrix product: " + shape_of(a.rows, a.columns) + " times " +
                                shape_of(b.rows, b.columns) + " into " +
                                shape_of(out.rows, out.columns));
  if (out.row_stride < out.columns)
    throw std::invalid_argument("matrix product: rows of " + std::to_string(out.columns) +
                                " overlap at a stride of " + std::to_string(out.row_stride));
}

/// Without a term there are no blocks.
void clear(const result_view& out) {
  for (size_t i = 0; i < out.rows && !out.adds; ++i)
    std::fill_n(out.data + i * out.row_stride, out.columns, 0.0f);
}

const kernels* kernels_of(instruction_set set) {
  switch (set) {
  case instruction_set::portable:
    return &portable_kernels;
#if defined(__x86_64__)
  case instruction_set::avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2_kernels
                                                                           : nullptr;
  case instruction_set::avx512:
    return __builtin_cpu_supports("avx512f") ? &avx512_kernels : nullptr;
#elif defined(__aarch64__)
  case instruction_set::neon:
    return &neon_kernels;
#endif
  default:
    return nullptr;
  }
}

/// The arguments of the kernel (models/device/kernels.cl).
struct device_products {
  uint64_t rows, columns, terms;
  uint64_t a_row, a_column, b_row, b_column, out_row;
  uint64_t adds;
  uint64_t first;
  uint64_t inner;
  uint64_t a_outer, a_inner, b_outer, b_inner, out_outer, out_inner;
};

/// All values of the operands of `all` products, and what lies between them.
std::span<const float> reach(const float* data, size_t rows, size_t row_stride, size_t columns,
                             size_t column_stride, const std::array<size_t, 2>& steps,
                             const repetition& all) {
  if (rows == 0 || columns == 0)
    return {data, 0};
  return {data, (rows - 1) * row_stride + (columns - 1) * column_stride +
                  (all.outer - 1) * steps[0] + (all.inner - 1) * steps[1] + 1};
}

void run_on(device_queue& device, const matrix_view& a, const matrix_view& b,
            const result_view& out, const repetition& all) {
  device_products shape{
    a.rows,       b.columns,       a.columns,      a.row_stride, a.column_stride,
    b.row_stride, b.column_stride, out.row_stride, out.adds,     0,
    all.inner,    all.a[0],        all.a[1],       all.b[0],     all.b[1],
    all.out[0],   all.out[1]};
  const auto side = device.product_side();
  const auto groups = [=](size_t count) { return (count + side - 1) / side; };
  constexpr size_t launch_max = 32'768; // some devices take no more groups along their third extent
  const auto count = all.outer * all.inner;
  for (; shape.first < count; shape.first += launch_max)
    device.run_groups(
      "multiply", {groups(b.columns), groups(a.rows), std::min(launch_max, count - shape.first)},
      {reach(a.data, a.rows, a.row_stride, a.columns, a.column_stride, all.a, all),
       reach(b.data, b.rows, b.row_stride, b.columns, b.column_stride, all.b, all),
       reach(out.data, out.rows, out.row_stride, out.columns, 1, all.out, all), shape});
}

std::atomic<const kernels*>& current() {
  static std::atomic<const kernels*> value{kernels_of(instructions_here().front())};
  return value;
}

} // namespace

void multiply_each(const matrix_view& a, const matrix_view& b, const result_view& out,
                   const repetition& all) {
  require_fit(a, b, out);
  if (auto* const device = device_of(out.data))
    return run_on(*device, a, b, out, all);
  for (size_t i = 0; i < all.outer; ++i)
    for (size_t j = 0; j < all.inner; ++j) {
      auto left = a, right = b;
      auto to = out;
      left.data += i * all.a[0] + j * all.a[1];
      right.data += i * all.b[0] + j * all.b[1];
      to.data += i * all.out[0] + j * all.out[1];
      multiply(left, right, to);
    }
}

void multiply(const matrix_view& a, const matrix_view& b, const result_view& out) {
  require_fit(a, b, out);
  if (auto* const device = device_of(out.data))
    return run_on(*device, a, b, out, {});
  const auto& use = *current().load(std::memory_order_relaxed);
  if (out.rows == 0 || out.columns == 0)
    return;
  if (a.columns == 0)
    return clear(out);
  if (a.column_stride == 1 && b.column_stride != 1 && b.row_stride == 1) {
    if (a.rows <= use.lines_rows_max)
      return multiply_lines(use, a, b, out);
    if (b.columns <= use.lines_rows_max)
      return multiply_columns(use, a, b, out);
  }
  for_each_block(a.columns, [&](size_t p, size_t k) {
    for (size_t i = 0; i < a.rows; i += rows_at_once) {
      const strips cut{use, std::min(rows_at_once, a.rows - i)};
      const auto from = laid_out(use, part_of(a, i, cut.rows(), p, k), cut, b.columns);
      const bool packs = b.column_stride != 1 || pays(use, cut, b.row_stride);
      const auto step = packs ? group_columns(use, k) : b.columns;
      for (size_t j = 0; j < b.columns; j += step) {
        const auto some = part_of(b, p, k, j, std::min(step, b.columns - j));
        strip what{k,
                   nullptr,
                   0,
                   false,
                   some.data,
                   use.panel,
                   some.row_stride,
                   false,
                   out.data + i * out.row_stride + j,
                   out.row_stride,
                   some.columns,
                   out.adds || p > 0};
        if (packs) {
          auto* const to = scratch(right_side, padded(use, some.columns) * k);
          pack_panels(use, some, to);
          what.b = to;
          what.b_panel = use.panel * k;
          what.b_k = use.panel;
          what.is_padded = true;
        }
        run_strips(use, cut, from, what);
      }
    }
  });
}

bool has(instruction_set set) {
  return kernels_of(set) != nullptr;
}

std::vector<instruction_set> instructions_here() {
  using enum instruction_set;
  std::vector result{avx512, avx2, neon, portable};
  std::erase_if(result, [](auto set) { return !has(set); });
  return result;
}

void use(instruction_set set) {
  const auto* const found = kernels_of(set);
  if (!found)
    throw std::invalid_argument("products: this processor or program lacks " +
                                std::string{name_of(set)});
  current().store(found, std::memory_order_relaxed);
}

instruction_set in_use() {
  return *from_name<instruction_set>(current().load(std::memory_order_relaxed)->name);
}

} // namespace troupe::products
