#include "troupe/models/network/neural_network.hpp"

#include "troupe/models/layers/narrow_dense.hpp"
#include "troupe/models/losses/evaluate_loss.hpp"
#include "troupe/models/network/dropout.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

void require_size(const char* what, size_t expected, size_t actual) {
  if (expected != actual)
    throw std::invalid_argument(std::string{"neural network: expected "} +
                                std::to_string(expected) + " " + what + ", got " +
                                std::to_string(actual));
}

// A layer's slots of the workspace; behind those of all layers are the derivatives handed down.
enum slot : size_t { output, before_activation, mask, dropped, slots_per_layer };

size_t slot_of(size_t layer, slot which) {
  return layer * slots_per_layer + which;
}

} // namespace

neural_network::neural_network(const neural_network_options& options)
  : model(options.features, options.outputs, options.loss),
    initialization_(options.initialization),
    initialization_scale_(options.initialization_scale),
    dropout_(options.dropout) {
  const auto& kinds = options.activation.kinds();
  if (kinds.size() != 1)
    require_size("activations", options.hidden.size(), kinds.size());
  if (is_binary(loss()))
    require_size("output for a binary loss", 1, options.outputs);
  if (!(dropout_ >= 0 && dropout_ < 1))
    throw std::invalid_argument("neural network: the dropout must be in [0, 1)");
  auto sizes = options.hidden;
  sizes.push_back(options.outputs);
  size_t inputs = options.features;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool hidden = i + 1 < sizes.size();
    const auto activation = hidden ? options.activation.of(i) : activation_kind::identity;
    layers_.push_back({inputs, sizes[i], activation, options.bias});
    offsets_.push_back(layout_.size());
    const auto name = "layers." + std::to_string(i);
    layout_.add(name + ".weight", {sizes[i], inputs});
    if (options.bias)
      layout_.add(name + ".bias", {sizes[i]});
    inputs = sizes[i];
  }
}

void neural_network::initialize(uint64_t seed, std::span<float> parameters) const {
  require_size("parameters", layout_.size(), parameters.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& layer = layers_[i];
    const auto own = parameters.subspan(offset_of(i), layer.parameter_count());
    const auto weight_count = layer.outputs * layer.inputs;
    // Weights are sequence 2 i, with or without biases between them.
    troupe::initialize(
      initialization_,
      {seed, static_cast<uint32_t>(2 * i), layer.inputs, layer.outputs, initialization_scale_},
      own.first(weight_count));
    std::ranges::fill(own.subspan(weight_count), 0.0f);
  }
}

std::span<const float> neural_network::part(std::span<const float> parameters, size_t layer) const {
  return parameters.subspan(offset_of(layer), layers_[layer].parameter_count());
}

std::span<float> neural_network::forward(std::span<const float> parameters, const batch& rows,
                                         bool drops, workspace& memory) const {
  require_size("parameters", layout_.size(), parameters.size());
  require_size("features", rows.row_count * feature_count(), rows.features.size());
  auto input = rows.features;
  std::span<float> result;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto size = rows.row_count * layers_[i].outputs;
    result = memory.slot(slot_of(i, output), size);
    std::span<float> before;
    if (derivative_needs_input(layers_[i].activation))
      before = memory.slot(slot_of(i, before_activation), size);
    layers_[i].forward(part(parameters, i), input, result, before);
    input = result;
    if (!drops || !drops_after(i))
      continue;
    const auto factors = memory.slot(slot_of(i, mask), size);
    const auto masked = memory.slot(slot_of(i, dropped), size);
    fill_dropout_mask(dropout_, rows, static_cast<uint32_t>(i), layers_[i].outputs, factors);
    apply_mask(factors, result, masked);
    input = masked;
  }
  return result;
}

std::span<const float> neural_network::input_of(size_t i, const batch& rows,
                                                workspace& memory) const {
  if (i == 0)
    return rows.features;
  return memory.slot(slot_of(i - 1, drops_after(i - 1) ? dropped : output),
                     rows.row_count * layers_[i].inputs);
}

void neural_network::through_activation(size_t i, std::span<float> delta, workspace& memory) const {
  if (drops_after(i))
    apply_mask(memory.slot(slot_of(i, mask), delta.size()), delta, delta);
  const auto kind = layers_[i].activation;
  const auto kept = derivative_needs_input(kind) ? before_activation : output;
  multiply_by_derivative(kind, memory.slot(slot_of(i, kept), delta.size()), delta);
}

// A linear model of few outputs: piece by piece, so that the rows are read from memory once.
batch_sums neural_network::sweep(std::span<const float> parameters, const batch& rows,
                                 std::span<float> gradient_out, workspace& memory) const {
  std::ranges::fill(gradient_out, 0.0f);
  const auto piece_rows = std::max<size_t>(narrow_piece_values / feature_count() / 4 * 4, 16);
  batch_sums sums;
  for (size_t begin = 0; begin < rows.row_count; begin += piece_rows) {
    const auto piece = part_of(rows, begin, std::min(piece_rows, rows.row_count - begin));
    const auto scores = forward(parameters, piece, true, memory);
    sums = sums + evaluate_loss(loss_with_constants(), piece, scores, output_count(), scores);
    layers_.front().add_narrow_gradient(piece.features, scores, gradient_out);
  }
  return sums;
}

std::span<float> neural_network::delta_of(size_t i, const batch& rows, workspace& memory) const {
  const auto last = layers_.size() - 1;
  const auto place = i == last ? slot_of(last, output) : slot_of(last + 1, output) + i;
  return memory.slot(place, rows.row_count * layers_[i].outputs);
}

void neural_network::descend(std::span<const float> parameters, const batch& rows,
                             workspace& memory) const {
  for (size_t i = layers_.size() - 1; i > 0; --i) {
    const auto down = delta_of(i - 1, rows, memory);
    layers_[i].backward(part(parameters, i), delta_of(i, rows, memory), down);
    through_activation(i - 1, down, memory);
  }
}

batch_sums neural_network::gradient(std::span<const float> parameters, const batch& rows,
                                    std::span<float> gradient_out, workspace& memory,
                                    const gradient_listener* listener) const {
  require_size("gradients", layout_.size(), gradient_out.size());
  if (layers_.size() == 1 && output_count() <= narrow_outputs_max) {
    require_size("features", rows.row_count * feature_count(), rows.features.size());
    return sweep(parameters, rows, gradient_out, memory);
  }
  const auto scores = forward(parameters, rows, true, memory);
  const auto sums = evaluate_loss(loss_with_constants(), rows, scores, output_count(), scores);
  descend(parameters, rows, memory);
  size_t done_count = 0;
  for (const bool first : {true, false}) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const auto size = layers_[i].parameter_count();
      if (first != (listener == nullptr || listener->is_wanted_first(offset_of(i) + size / 2)))
        continue;
      layers_[i].gradient(input_of(i, rows, memory), delta_of(i, rows, memory),
                          gradient_out.subspan(offset_of(i), size));
      if (++done_count < layers_.size() && listener != nullptr)
        listener->on_piece(offset_of(i), offset_of(i) + size, sums);
    }
  }
  return sums;
}

void neural_network::score_derivatives(std::span<const float> parameters,
                                       std::span<const float> features, size_t output,
                                       std::span<float> out, workspace& memory) const {
  require_size("derivatives", layout_.size(), out.size());
  if (output >= output_count())
    throw std::invalid_argument("neural network: there is no output " + std::to_string(output));
  if (dropout_ > 0)
    throw std::invalid_argument("neural network: derivatives of scores are those without dropout");
  batch row;
  row.row_count = 1;
  row.features = features;
  forward(parameters, row, false, memory);
  const auto delta = delta_of(layers_.size() - 1, row, memory);
  std::ranges::fill(delta, 0.0f);
  delta[output] = 1;
  descend(parameters, row, memory);
  for (size_t i = 0; i < layers_.size(); ++i)
    layers_[i].gradient(input_of(i, row, memory), delta_of(i, row, memory),
                        out.subspan(offset_of(i), layers_[i].parameter_count()));
}

batch_sums neural_network::evaluate(std::span<const float> parameters, const batch& rows,
                                    workspace& memory) const {
  const auto scores = forward(parameters, rows, false, memory);
  return evaluate_loss(loss_with_constants(), rows, scores, output_count(), scores);
}

void neural_network::predict(std::span<const float> parameters, std::span<const float> features,
                             std::span<float> out, workspace& memory) const {
  batch rows;
  rows.row_count = features.size() / feature_count();
  rows.features = features;
  require_size("predictions", rows.row_count * prediction_count(), out.size());
  const auto scores = forward(parameters, rows, false, memory);
  predict_from_scores(loss_with_constants(), scores, output_count(), out);
}

} // namespace troupe
