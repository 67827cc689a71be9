// Convolution in two extents, channels last: patches of a few rows at a time, and the dense layer on
// them. A patch is kernel height x kernel width x channels values; those beyond the edge are 0.
//
// Rows come in groups whose patches stay in a cache; their number follows from shapes and R alone.
// Gradients of groups are added in row order, derivatives of patches in the order of row, position, line.

#include "models/device/device_queue.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/layer_options.hpp"
#include "models/math/moves.hpp"
#include "models/math/products.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Floats of the patches of a group of rows: 256 KiB, which a second-level cache holds. Twice or half of
/// it moves a small network's step by a tenth at most.
constexpr size_t group_values = 65'536;

/// Along one extent.
struct extent {
  size_t in = 0;
  size_t kernel = 0;
  size_t stride = 1;
  size_t before = 0; ///< zeros in front
  size_t out = 0;

  /// Where the window of position `o` lies: its first place among those with the zeros in front.
  size_t first(size_t o) const { return o * stride; }
  /// The part [begin, end) of the window of position `o` that is not beyond the edges.
  size_t begin(size_t o) const { return before > first(o) ? before - first(o) : 0; }
  size_t end(size_t o) const {
    return std::min(kernel, in + before - std::min(first(o), in + before));
  }
};

extent extent_of(size_t in, size_t kernel, size_t stride, bool same) {
  extent result{in, kernel, stride, 0, 0};
  if (same) {
    result.out = (in + stride - 1) / stride;
    const auto covered = (result.out - 1) * stride + kernel;
    result.before = covered > in ? (covered - in) / 2 : 0;
  } else if (kernel <= in) {
    result.out = (in - kernel) / stride + 1;
  }
  return result;
}

class convolution final : public layer {
public:
  convolution(const convolution_options& x, const row_shape& input, extent high, extent wide)
    : layer(input, {high.out, wide.out, x.channels}),
      high_(high),
      wide_(wide),
      channels_(input[2]),
      positions_(high.out * wide.out),
      active_{{high.kernel * wide.kernel * input[2], x.channels, activation_kind::identity, x.bias},
              named_value<activation_kind>(x.activation)},
      does_(active_.dense) {
    tensors_.push_back({"weight",
                        {x.channels, high.kernel, wide.kernel, channels_},
                        named_value<initialization_kind>(x.initialization),
                        does_.inputs,
                        high.kernel * wide.kernel * x.channels});
    tensors_.back().torch = {tensors_.back().shape, {0, 3, 1, 2}};
    if (x.bias)
      tensors_.push_back({"bias", {x.channels}});
    if (active_.keeps())
      kept_size_ = output_size();
  }

  bool runs_on_devices() const override { return true; }
  uint64_t multiply_adds() const override { return uint64_t{output_size()} * does_.inputs; }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    const auto per_row = positions_ * does_.outputs;
    for_each_group(call, x, [&](size_t first, size_t rows, std::span<const float> patches) {
      const auto kept = active_.keeps() && call.trains
                          ? call.kept.subspan(first * per_row, rows * per_row)
                          : std::span<float>{};
      active_.forward(call.parameters, patches, y.subspan(first * per_row, rows * per_row), kept);
    });
  }

  void backward(const layer_call& call, std::span<const float>, std::span<const float> y,
                std::span<float> dy, std::span<float> dx) const override {
    active_.derive(y, call.kept, dy);
    if (dx.empty())
      return;
    const auto rows = call.rows.row_count;
    const auto per_row = positions_ * does_.outputs;
    for (size_t first = 0; first < rows; first += group_of(rows)) {
      const auto count = std::min(group_of(rows), rows - first);
      const auto some = dy.subspan(first * per_row, count * per_row);
      const auto place = dx.subspan(first * input_size(), count * input_size());
      if (is_plain()) {
        does_.backward(call.parameters, some, place);
        continue;
      }
      const auto patches = call.scratch(0, count * positions_ * does_.inputs);
      does_.backward(call.parameters, some, patches);
      add_patches(patches, place);
    }
  }

  void gradient(const layer_call& call, std::span<const float> x, std::span<const float> dy,
                std::span<float> out) const override {
    const auto per_row = positions_ * does_.outputs;
    const auto weight = does_.outputs * does_.inputs;
    if (call.rows.row_count == 0)
      fill_values(out, 0);
    for_each_group(call, x, [&](size_t first, size_t rows, std::span<const float> patches) {
      const auto* some = dy.data() + first * per_row;
      products::multiply(products::matrix_of(some, rows * positions_, does_.outputs).transposed(),
                         products::matrix_of(patches.data(), rows * positions_, does_.inputs),
                         products::result_of(out.data(), does_.outputs, does_.inputs, first > 0));
    });
    if (does_.has_bias)
      sum_columns(dy, out.subspan(weight));
  }

private:
  /// A kernel of one place, at every position: values are their own patches.
  bool is_plain() const { return does_.inputs == channels_ && positions_ == high_.in * wide_.in; }

  size_t group_of(size_t rows) const {
    return std::clamp<size_t>(group_values / (positions_ * does_.inputs), 1,
                              std::max<size_t>(rows, 1));
  }

  /// Calls use(first row, rows, their patches).
  template <class Use>
  void for_each_group(const layer_call& call, std::span<const float> x, const Use& use) const {
    const auto rows = call.rows.row_count;
    const auto per_row = positions_ * does_.inputs;
    for (size_t first = 0; first < rows; first += group_of(rows)) {
      const auto count = std::min(group_of(rows), rows - first);
      const auto some = x.subspan(first * input_size(), count * input_size());
      if (is_plain()) {
        use(first, count, some);
        continue;
      }
      const auto patches = call.scratch(0, count * per_row);
      make_patches(some, patches);
      use(first, count, std::span<const float>{patches});
    }
  }

  /// Calls use(line of a patch that lies within, its place in the row, its length).
  template <class Use>
  void for_each_line(const Use& use) const {
    const auto line = wide_.kernel * channels_;
    for (size_t oy = 0; oy < high_.out; ++oy)
      for (size_t ox = 0; ox < wide_.out; ++ox) {
        const auto patch = (oy * wide_.out + ox) * does_.inputs;
        const auto begin = wide_.begin(ox);
        const auto length = (wide_.end(ox) - begin) * channels_;
        const auto x = wide_.first(ox) + begin - wide_.before;
        for (auto ky = high_.begin(oy); ky < high_.end(oy); ++ky) {
          const auto y = high_.first(oy) + ky - high_.before;
          use(patch + ky * line + begin * channels_, (y * wide_.in + x) * channels_, length);
        }
      }
  }

  bool has_edges() const {
    return high_.before > 0 || wide_.before > 0 || high_.end(high_.out - 1) < high_.kernel ||
           wide_.end(wide_.out - 1) < wide_.kernel;
  }

  /// Of some rows.
  void make_patches(std::span<const float> rows, std::span<float> patches) const {
    if (auto* const device = device_of(patches))
      return device->run("make_patches", patches.size(), {rows, patches, high_, wide_, channels_});
    const auto per_row = positions_ * does_.inputs;
    for (size_t i = 0; i * per_row < patches.size(); ++i)
      make_patches(rows.data() + i * input_size(), patches.data() + i * per_row);
  }

  void add_patches(std::span<const float> patches, std::span<float> rows) const {
    if (auto* const device = device_of(rows))
      return device->run("add_patches", rows.size(), {patches, rows, high_, wide_, channels_});
    std::ranges::fill(rows, 0.0f);
    const auto per_row = positions_ * does_.inputs;
    for (size_t i = 0; i * per_row < patches.size(); ++i)
      add_patches(patches.data() + i * per_row, rows.data() + i * input_size());
  }

  void make_patches(const float* row, float* patches) const {
    if (!has_edges())
      return with_length(wide_.kernel * channels_, [=, this](auto length) {
        for_each_line([=](size_t to, size_t from, size_t) {
          std::copy_n(row + from, static_cast<size_t>(length), patches + to);
        });
      });
    std::fill_n(patches, positions_ * does_.inputs, 0.0f);
    for_each_line([=](size_t to, size_t from, size_t length) {
      std::copy_n(row + from, length, patches + to);
    });
  }

  void add_patches(const float* patches, float* row) const {
    for_each_line([=](size_t from, size_t to, size_t length) {
      for (size_t i = 0; i < length; ++i)
        row[to + i] += patches[from + i];
    });
  }

  extent high_;
  extent wide_;
  size_t channels_;     ///< in
  size_t positions_;    ///< out
  active_dense active_; ///< on patches
  dense_layer does_;    ///< the same
};

} // namespace

std::unique_ptr<layer> make_convolution(const convolution_options& x, const layer_input& input) {
  if (input.shape.size() != 3)
    throw std::invalid_argument("takes rows of height x width x channels, not " +
                                text_of(input.shape) + ": say so with 'shape', as in [28, 28, 1]");
  if (x.kernel.size() != 2 || std::ranges::count(x.kernel, size_t{0}) > 0)
    throw std::invalid_argument("'kernel' is two extents of at least 1, as in [3, 3]");
  const bool same = x.padding == "same";
  const auto high = extent_of(input.shape[0], x.kernel[0], x.stride, same);
  const auto wide = extent_of(input.shape[1], x.kernel[1], x.stride, same);
  if (high.out == 0 || wide.out == 0)
    throw std::invalid_argument("a kernel of " + text_of(x.kernel) + " does not fit into rows of " +
                                text_of(input.shape) +
                                ": take a smaller one, or padding = \"same\"");
  require_bounded({x.channels, x.kernel[0], x.kernel[1], input.shape[2]});
  require_bounded({high.out, wide.out, x.kernel[0], x.kernel[1], input.shape[2]});
  return std::make_unique<convolution>(x, input.shape, high, wide);
}

} // namespace troupe
