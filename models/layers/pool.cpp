// Pooling, channel by channel: the greatest, the mean or the last value of each window that lies
// within. Windows are walked in order, so the first of equals counts and sums have one order.

#include "models/base/multiversion.hpp"
#include "models/device/device_queue.hpp"
#include "models/layers/layer_options.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

namespace {

/// A NaN wins for good: it has to be noticed.
TROUPE_MULTIVERSION void take_greater(const float* __restrict x, float number, float* __restrict y,
                                      float* __restrict which, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const bool takes = x[i] > y[i] || x[i] != x[i];
    y[i] = takes ? x[i] : y[i];
    which[i] = takes ? number : which[i];
  }
}

TROUPE_MULTIVERSION void add_scaled(const float* __restrict x, float factor, float* __restrict y,
                                    size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    y[i] += factor * x[i];
}

/// Of a window: each place's number is kept as a float, and a row holds a table of them.
constexpr size_t places_max = size_t{1} << 20;

/// Along one extent.
struct windows {
  size_t in = 0;
  size_t size = 0;
  size_t stride = 0;

  size_t out() const { return (in - size) / stride + 1; }
};

/// An argument of kernels (models/device/kernels.cl).
struct device_windows {
  uint64_t high_in, high_size, high_stride, high_out;
  uint64_t wide_in, wide_size, wide_stride, wide_out;
  uint64_t channels;
};

class pool : public layer {
public:
  bool runs_on_devices() const override { return true; }

protected:
  pool(const row_shape& input, row_shape output, windows high, windows wide)
    : layer(input, std::move(output)), high_(high), wide_(wide), channels_(input.back()) {
    for (size_t ky = 0; ky < high.size; ++ky)
      for (size_t kx = 0; kx < wide.size; ++kx)
        places_.push_back((ky * wide.in + kx) * channels_);
  }

  size_t channels() const { return channels_; }
  device_windows for_device() const {
    return {high_.in,   high_.size,   high_.stride, high_.out(), wide_.in,
            wide_.size, wide_.stride, wide_.out(),  channels_};
  }
  /// Calls use(place of a window's values in y, place of its first ones in x) for one row.
  template <class Use>
  void for_each_window(const Use& use) const {
    for (size_t oy = 0; oy < high_.out(); ++oy)
      for (size_t ox = 0; ox < wide_.out(); ++ox)
        use((oy * wide_.out() + ox) * channels_,
            (oy * high_.stride * wide_.in + ox * wide_.stride) * channels_);
  }

  /// The same for each line of windows.
  template <class Use>
  void for_each_line(const Use& use) const {
    for (size_t oy = 0; oy < high_.out(); ++oy)
      use(oy * line_size(), oy * high_.stride * wide_.in * channels_);
  }
  size_t line_size() const { return wide_.out() * channels_; } ///< of y

  /// One place of each window of a line, of which `from` is the first's.
  void copy_line(const float* from, float* to) const {
    with_length(channels_, [&](auto channels) {
      for (size_t ox = 0; ox < wide_.out(); ++ox)
        std::copy_n(from + ox * wide_.stride * channels, static_cast<size_t>(channels),
                    to + ox * channels);
    });
  }

  /// Of a window's values in x, behind its first ones, by their number.
  const std::vector<size_t>& places() const { return places_; }

private:
  windows high_;
  windows wide_;
  size_t channels_;
  std::vector<size_t> places_;
};

class greatest final : public pool {
public:
  greatest(const row_shape& input, row_shape output, windows high, windows wide)
    : pool(input, std::move(output), high, wide) {
    kept_size_ = output_size(); // the number in its window of each that was taken
  }

  // Line by line of windows: what they have at one of their places, side by side.
  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    if (auto* const device = device_of(y))
      return device->run("take_greatest", y.size(), {x, y, call.kept, for_device()});
    const auto values = call.scratch(0, line_size());
    for (size_t i = 0; i < call.rows.row_count; ++i)
      for_each_line([&](size_t out, size_t in) {
        auto* to = y.data() + i * output_size() + out;
        auto* which = call.kept.data() + i * output_size() + out;
        std::fill_n(which, line_size(), 0.0f);
        for (size_t number = 0; number < places().size(); ++number) {
          const auto* from = x.data() + i * input_size() + in + places()[number];
          copy_line(from, number == 0 ? to : values.data());
          if (number > 0)
            take_greater(values.data(), static_cast<float>(number), to, which, line_size());
        }
      });
  }

  void backward(const layer_call& call, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    if (auto* const device = device_of(dx))
      return device->run("give_greatest", dx.size(), {dy, call.kept, dx, for_device()});
    std::ranges::fill(dx, 0.0f);
    for (size_t i = 0; i < call.rows.row_count && !dx.empty(); ++i) {
      const auto* from = dy.data() + i * output_size();
      const auto* which = call.kept.data() + i * output_size();
      auto* to = dx.data() + i * input_size();
      for_each_window([&](size_t out, size_t in) {
        for (size_t c = 0; c < channels(); ++c)
          to[in + places()[static_cast<size_t>(which[out + c])] + c] += from[out + c];
      });
    }
  }
};

/// A weighted sum of each window: 1 / n each, or the last one alone.
class summed final : public pool {
public:
  summed(const row_shape& input, row_shape output, windows high, windows wide, bool last)
    : pool(input, std::move(output), high, wide),
      first_(last ? places().size() - 1 : 0),
      weight_(1.0f / static_cast<float>(places().size() - first_)) {}

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    if (auto* const device = device_of(y))
      return device->run("add_window", y.size(), {x, y, for_device(), first_, weight_});
    std::ranges::fill(y, 0.0f);
    for_each_place(call, [&](size_t in, size_t out) {
      add_scaled(x.data() + in, weight_, y.data() + out, channels());
    });
  }

  void backward(const layer_call& call, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    if (auto* const device = device_of(dx))
      return device->run("spread_window", dx.size(), {dy, dx, for_device(), first_, weight_});
    std::ranges::fill(dx, 0.0f);
    if (!dx.empty())
      for_each_place(call, [&](size_t in, size_t out) {
        add_scaled(dy.data() + out, weight_, dx.data() + in, channels());
      });
  }

private:
  /// Calls use(place in x, place of its window in y) for all that count, of all rows.
  template <class Use>
  void for_each_place(const layer_call& call, const Use& use) const {
    const auto in_size = input_size(), out_size = output_size();
    for (size_t i = 0; i < call.rows.row_count; ++i)
      for_each_window([&](size_t out, size_t in) {
        for (auto number = first_; number < places().size(); ++number)
          use(i * in_size + in + places()[number], i * out_size + out);
      });
  }

  size_t first_ = 0; ///< places of a window before it do not count
  float weight_ = 1; ///< of the others
};

} // namespace

std::unique_ptr<layer> make_pool(const pool_options& x, const layer_input& input) {
  const auto& shape = input.shape;
  if (shape.size() < 2)
    throw std::invalid_argument(
      "takes rows of height x width x channels or positions x width, not " + text_of(shape));
  if (x.size == 0 && x.stride > 0)
    throw std::invalid_argument("'stride' needs a 'size': without one a window is the whole row");
  const auto along = [&](size_t in, bool is_there) {
    const auto size = !is_there ? 1 : x.size == 0 ? in : x.size;
    if (size > in)
      throw std::invalid_argument("windows of " + std::to_string(size) +
                                  " do not fit into rows of " + text_of(shape));
    return windows{in, size, !is_there ? 1 : x.stride == 0 ? size : x.stride};
  };
  const auto high = along(shape[0], true);
  const auto wide = along(shape.size() == 3 ? shape[1] : 1, shape.size() == 3);
  if (high.size * wide.size > places_max)
    throw std::invalid_argument("a window of " + text_of({high.size, wide.size}) +
                                " has more than 2^20 places: take a smaller 'size'");
  row_shape output{shape.back()};
  if (x.size > 0 && shape.size() == 3)
    output = {high.out(), wide.out(), shape.back()};
  else if (x.size > 0)
    output = {high.out(), shape.back()};
  if (x.over == "max")
    return std::make_unique<greatest>(shape, output, high, wide);
  return std::make_unique<summed>(shape, output, high, wide, x.over == "last");
}

} // namespace troupe
