// The layers of rows that are sequences: embedding of codes, learned positions, layer normalisation.

#include "models/base/multiversion.hpp"
#include "models/device/device_queue.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/layer_options.hpp"
#include "models/math/lanes.hpp"
#include "models/math/moves.hpp"
#include "models/math/reduction.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

class embedding final : public layer {
public:
  embedding(const embedding_options& x, const row_shape& input)
    : layer(input, {size_of(input), x.width}), categories_(x.categories), width_(x.width) {
    tensors_.push_back({"weight",
                        {x.categories + 1, x.width},
                        initialization_kind::normal,
                        x.categories + 1,
                        x.width,
                        x.scale});
  }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    if (auto* const device = device_of(y))
      return device->run("embed", y.size(), {call.parameters, x, y, categories_, width_});
    for (size_t i = 0; i < x.size(); ++i)
      std::copy_n(call.parameters.data() + row_of(x[i]) * width_, width_, y.data() + i * width_);
  }

  bool is_differentiable() const override { return false; }
  bool runs_on_devices() const override { return true; }

  /// Codes have no derivative.
  void backward(const layer_call&, std::span<const float>, std::span<const float>, std::span<float>,
                std::span<float> dx) const override {
    fill_values(dx, 0);
  }

  void gradient(const layer_call&, std::span<const float> x, std::span<const float> dy,
                std::span<float> out) const override {
    fill_values(out, 0);
    if (auto* const device = device_of(out))
      return device->run("embed_gradient", width_, {x, dy, out, x.size(), categories_});
    for (size_t i = 0; i < x.size(); ++i)
      add_into(out.subspan(row_of(x[i]) * width_, width_), dy.subspan(i * width_, width_));
  }

private:
  size_t row_of(float code) const {
    if (!(code >= 0 && code < static_cast<float>(categories_)))
      return categories_;
    const auto row = static_cast<size_t>(code);
    return static_cast<float>(row) == code ? row : categories_;
  }

  size_t categories_;
  size_t width_;
};

class positions final : public layer {
public:
  positions(const positions_options& x, const row_shape& shape) : layer(shape, shape) {
    tensors_.push_back({"weight", shape, initialization_kind::normal, 1, 1, x.scale});
  }

  bool runs_on_devices() const override { return true; }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    copy_floats(x, y);
    add_bias_and_activate(activation_kind::identity, call.parameters, y);
  }

  void backward(const layer_call&, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    if (!dx.empty())
      copy_floats(dy, dx);
  }

  void gradient(const layer_call&, std::span<const float>, std::span<const float> dy,
                std::span<float> out) const override {
    sum_columns(dy, out);
  }
};

TROUPE_MULTIVERSION void normalise(const float* __restrict x, const float* __restrict weight,
                                   const float* __restrict bias, float* __restrict y,
                                   float* __restrict kept, size_t rows, size_t width,
                                   float epsilon) {
  const auto share = 1.0f / static_cast<float>(width);
  for (size_t r = 0; r < rows; ++r, x += width, y += width) {
    const auto mean = lane_sum<float>(width, [=](size_t i) { return x[i]; }) * share;
    const auto variance =
      lane_sum<float>(width, [=](size_t i) { return (x[i] - mean) * (x[i] - mean); }) * share;
    const auto factor = 1.0f / std::sqrt(variance + epsilon);
    kept[2 * r] = mean;
    kept[2 * r + 1] = factor;
    for (size_t i = 0; i < width; ++i)
      y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
  }
}

TROUPE_MULTIVERSION void derive_norm(const float* __restrict x, const float* __restrict weight,
                                     const float* __restrict kept, const float* __restrict dy,
                                     float* __restrict dx, size_t rows, size_t width) {
  const auto share = 1.0f / static_cast<float>(width);
  for (size_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const auto mean = kept[2 * r], factor = kept[2 * r + 1];
    const auto sum = lane_sum<float>(width, [=](size_t i) { return dy[i] * weight[i]; }) * share;
    const auto along =
      lane_sum<float>(width,
                      [=](size_t i) { return dy[i] * weight[i] * ((x[i] - mean) * factor); }) *
      share;
    for (size_t i = 0; i < width; ++i)
      dx[i] = factor * (dy[i] * weight[i] - sum - (x[i] - mean) * factor * along);
  }
}

TROUPE_MULTIVERSION void add_norm_gradient(const float* __restrict x, const float* __restrict kept,
                                           const float* __restrict dy, float* __restrict weight,
                                           float* __restrict bias, size_t rows, size_t width) {
  for (size_t r = 0; r < rows; ++r, x += width, dy += width) {
    const auto mean = kept[2 * r], factor = kept[2 * r + 1];
    for (size_t i = 0; i < width; ++i) {
      weight[i] += dy[i] * ((x[i] - mean) * factor);
      bias[i] += dy[i];
    }
  }
}

class layer_norm final : public layer {
public:
  layer_norm(const layer_norm_options& x, const row_shape& shape)
    : layer(shape, shape), width_(shape.back()), epsilon_(static_cast<float>(x.epsilon)) {
    tensors_.push_back({.name = "weight", .shape = {width_}, .constant = 1});
    tensors_.push_back({.name = "bias", .shape = {width_}});
    kept_size_ = 2 * (input_size() / width_); // mean and 1 / deviation
  }

  bool runs_on_devices() const override { return true; }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    if (auto* const device = device_of(y))
      return device->run("normalise", x.size() / width_,
                         {x, call.parameters.first(width_), call.parameters.subspan(width_), y,
                          call.kept, width_, epsilon_});
    normalise(x.data(), call.parameters.data(), call.parameters.data() + width_, y.data(),
              call.kept.data(), x.size() / width_, width_, epsilon_);
  }

  void backward(const layer_call& call, std::span<const float> x, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    if (auto* const device = device_of(dx))
      return device->run(
        "derive_norm", x.size() / width_,
        {x, call.parameters.first(width_), std::span<const float>{call.kept}, dy, dx, width_});
    if (!dx.empty())
      derive_norm(x.data(), call.parameters.data(), call.kept.data(), dy.data(), dx.data(),
                  x.size() / width_, width_);
  }

  void gradient(const layer_call& call, std::span<const float> x, std::span<const float> dy,
                std::span<float> out) const override {
    if (auto* const device = device_of(out))
      return device->run("norm_gradient", width_,
                         {x, std::span<const float>{call.kept}, dy, out.first(width_),
                          out.subspan(width_), x.size() / width_});
    std::ranges::fill(out, 0.0f);
    add_norm_gradient(x.data(), call.kept.data(), dy.data(), out.data(), out.data() + width_,
                      x.size() / width_, width_);
  }

private:
  size_t width_;
  float epsilon_;
};

} // namespace

std::unique_ptr<layer> make_embedding(const embedding_options& x, const layer_input& input) {
  return std::make_unique<embedding>(x, input.shape);
}

std::unique_ptr<layer> make_positions(const positions_options& x, const layer_input& input) {
  require_sequence(input.shape);
  return std::make_unique<positions>(x, input.shape);
}

std::unique_ptr<layer> make_layer_norm(const layer_norm_options& x, const layer_input& input) {
  if (input.shape.back() == 1)
    throw std::invalid_argument("the last extent of " + text_of(input.shape) +
                                " is 1: of one value nothing is left when its mean is taken off");
  return std::make_unique<layer_norm>(x, input.shape);
}

} // namespace troupe
