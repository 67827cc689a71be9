#include "troupe/models/neural_network.hpp"

#include "troupe/models/losses/evaluate_loss.hpp"

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

} // namespace

neural_network::neural_network(const neural_network_options& options)
  : model(options.features, options.outputs, options.loss),
    initialization_(options.initialization) {
  auto sizes = options.hidden;
  sizes.push_back(options.outputs);
  size_t inputs = options.features;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto activation = i + 1 < sizes.size() ? options.activation : activation_kind::identity;
    layers_.push_back({inputs, sizes[i], activation});
    const auto name = "layers." + std::to_string(i);
    layout_.add(name + ".weight", {sizes[i], inputs});
    layout_.add(name + ".bias", {sizes[i]});
    inputs = sizes[i];
  }
}

void neural_network::initialize(uint64_t seed, std::span<float> parameters) const {
  require_size("parameters", layout_.size(), parameters.size());
  const auto& tensors = layout_.tensors();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& weight = tensors[2 * i];
    const auto& bias = tensors[2 * i + 1];
    troupe::initialize(initialization_,
                       {seed, static_cast<uint32_t>(2 * i), layers_[i].inputs, layers_[i].outputs},
                       parameters.subspan(weight.offset, weight.size));
    std::ranges::fill(parameters.subspan(bias.offset, bias.size), 0.0f);
  }
}

std::span<const float> neural_network::part(std::span<const float> parameters, size_t layer) const {
  return parameters.subspan(offset_of(layer), layers_[layer].parameter_count());
}

std::span<float> neural_network::forward(std::span<const float> parameters,
                                         std::span<const float> features, size_t row_count,
                                         workspace& memory) const {
  require_size("parameters", layout_.size(), parameters.size());
  require_size("features", row_count * feature_count(), features.size());
  auto input = features;
  std::span<float> output;
  for (size_t i = 0; i < layers_.size(); ++i) {
    output = memory.slot(i, row_count * layers_[i].outputs);
    layers_[i].forward(part(parameters, i), input, output);
    input = output;
  }
  return output;
}

batch_sums neural_network::gradient(std::span<const float> parameters, const batch& rows,
                                    std::span<float> gradient_out, workspace& memory) const {
  require_size("gradients", layout_.size(), gradient_out.size());
  auto delta = forward(parameters, rows.features, rows.row_count, memory);
  const auto sums = evaluate_loss(loss(), rows, delta, output_count(), delta);
  // Slots behind the layers' outputs take turns as the derivative handed down.
  const auto depth = layers_.size();
  for (size_t i = depth; i-- > 0;) {
    const auto input =
      i == 0 ? rows.features
             : std::span<const float>{memory.slot(i - 1, rows.row_count * layers_[i].inputs)};
    layers_[i].gradient(input, delta,
                        gradient_out.subspan(offset_of(i), layers_[i].parameter_count()));
    if (i == 0)
      break;
    const auto down = memory.slot(depth + i % 2, rows.row_count * layers_[i].inputs);
    layers_[i].backward(part(parameters, i), delta, down);
    multiply_by_derivative(layers_[i - 1].activation, input, down);
    delta = down;
  }
  return sums;
}

batch_sums neural_network::evaluate(std::span<const float> parameters, const batch& rows,
                                    workspace& memory) const {
  const auto scores = forward(parameters, rows.features, rows.row_count, memory);
  return evaluate_loss(loss(), rows, scores, output_count(), scores);
}

void neural_network::predict(std::span<const float> parameters, std::span<const float> features,
                             std::span<float> out, workspace& memory) const {
  const auto row_count = features.size() / feature_count();
  require_size("predictions", row_count * output_count(), out.size());
  const auto scores = forward(parameters, features, row_count, memory);
  std::ranges::copy(scores, out.begin());
  if (is_classification(loss()))
    softmax_rows(out, output_count());
}

} // namespace troupe
