// The layers that work value by value or row by row: dense, activation, dropout, scale.

#include "models/device/device_queue.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/layer_options.hpp"
#include "models/math/moves.hpp"
#include "models/segments/layer_cuts.hpp"

namespace troupe {

namespace {

class dense final : public layer {
public:
  dense(const active_dense& does, row_shape input, row_shape output, initialization_kind initial)
    : layer(std::move(input), std::move(output)), active_(does) {
    const auto& plain = active_.dense;
    tensors_.push_back(
      {"weight", {plain.outputs, plain.inputs}, initial, plain.inputs, plain.outputs});
    if (const auto& x = layer::input(); x.size() == 3) // PyTorch flattens channels first
      tensors_.back().torch = {{plain.outputs, x[0], x[1], x[2]}, {0, 3, 1, 2}};
    if (plain.has_bias)
      tensors_.push_back({"bias", {plain.outputs}});
    if (active_.keeps())
      kept_size_ = output_size();
  }

  bool runs_on_devices() const override { return true; }
  uint64_t multiply_adds() const override { return uint64_t{output_size()} * active_.dense.inputs; }

  bool has_parts(part_way way) const override {
    return input().size() == output().size() &&
           (way == part_way::outputs ||
            (way == part_way::inputs && active_.activation == activation_kind::identity));
  }

  layer_part part(part_way way, size_t t, size_t parts) const override {
    const bool by_outputs = way == part_way::outputs;
    auto does = active_;
    auto& count = by_outputs ? does.dense.outputs : does.dense.inputs;
    const index_range all{0, active_.dense.outputs};
    const index_range units{part_begin(t, count, parts), part_begin(t + 1, count, parts)};
    if (units.empty())
      return {};
    count = units.size();
    auto in = input(), out = output();
    (by_outputs ? out : in).back() = count;
    layer_part result;
    if (by_outputs) {
      result.pieces.push_back({0, units, {0, does.dense.inputs}});
      if (does.dense.has_bias)
        result.pieces.push_back({1, units, {0, 1}});
    } else {
      does.dense.has_bias = false;
      result.pieces.push_back({0, all, units});
    }
    result.does = std::make_unique<dense>(does, in, out, tensors_.front().initial);
    return result;
  }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    active_.forward(call.parameters, x, y, call.trains ? call.kept : std::span<float>{});
  }

  void backward(const layer_call& call, std::span<const float>, std::span<const float> y,
                std::span<float> dy, std::span<float> dx) const override {
    active_.derive(y, call.kept, dy);
    if (!dx.empty())
      active_.dense.backward(call.parameters, dy, dx);
  }

  void gradient(const layer_call&, std::span<const float> x, std::span<const float> dy,
                std::span<float> out) const override {
    active_.dense.gradient(x, dy, out);
  }

private:
  active_dense active_;
};

class activation final : public layer {
public:
  activation(activation_kind function, const row_shape& shape)
    : layer(shape, shape), function_(function) {}

  bool runs_on_devices() const override { return true; }

  void forward(const layer_call&, std::span<const float> x, std::span<float> y) const override {
    copy_floats(x, y);
    activate(function_, y);
  }

  void backward(const layer_call&, std::span<const float> x, std::span<const float> y,
                std::span<float> dy, std::span<float> dx) const override {
    multiply_by_derivative(function_, derivative_needs_input(function_) ? x : y, dy);
    if (!dx.empty())
      copy_floats(dy, dx);
  }

private:
  activation_kind function_;
};

class scale final : public layer {
public:
  scale(const scale_options& x, const row_shape& shape)
    : layer(shape, shape),
      factor_(static_cast<float>(x.factor)),
      offset_(static_cast<float>(x.offset)) {}

  bool runs_on_devices() const override { return true; }

  void forward(const layer_call&, std::span<const float> x, std::span<float> y) const override {
    if (auto* const device = device_of(y))
      return device->run("scale", y.size(), {x, y, factor_, offset_});
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = x[i] * factor_ + offset_;
  }

  void backward(const layer_call&, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    if (auto* const device = device_of(dx))
      return device->run("scale_derivative", dx.size(), {dy, dx, factor_});
    for (size_t i = 0; i < dx.size(); ++i)
      dx[i] = dy[i] * factor_;
  }

private:
  float factor_;
  float offset_;
};

class dropout final : public layer {
public:
  dropout(double rate, const row_shape& shape) : layer(shape, shape), rate_(rate) {
    kept_size_ = input_size();
  }

  bool is_random() const override { return rate_ > 0; }
  bool runs_on_devices() const override { return true; }

  void forward(const layer_call& call, std::span<const float> x,
               std::span<float> y) const override {
    if (!call.trains) {
      copy_floats(x, y);
      return;
    }
    fill_dropout_mask(rate_, call.rows, call.number, {0, input_size()}, call.kept);
    apply_mask(call.kept, x, y);
  }

  void backward(const layer_call& call, std::span<const float>, std::span<const float>,
                std::span<float> dy, std::span<float> dx) const override {
    if (!dx.empty())
      apply_mask(call.kept, dy, dx);
  }

private:
  double rate_;
};

} // namespace

std::unique_ptr<layer> make_dense(const dense_options& x, const layer_input& input) {
  const bool by_position = input.shape.size() == 2 && !x.flatten;
  const auto inputs = by_position ? input.shape[1] : size_of(input.shape);
  return std::make_unique<dense>(
    active_dense{{inputs, x.units, activation_kind::identity, x.bias},
                 named_value<activation_kind>(x.activation)},
    input.shape, by_position ? row_shape{input.shape[0], x.units} : row_shape{x.units},
    named_value<initialization_kind>(x.initialization));
}

std::unique_ptr<layer> make_activation(const activation_options& x, const layer_input& input) {
  return std::make_unique<activation>(named_value<activation_kind>(x.function), input.shape);
}

std::unique_ptr<layer> make_scale(const scale_options& x, const layer_input& input) {
  return std::make_unique<scale>(x, input.shape);
}

std::unique_ptr<layer> make_dropout(const dropout_options& x, const layer_input& input) {
  return std::make_unique<dropout>(x.rate, input.shape);
}

} // namespace troupe
