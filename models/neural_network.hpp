// Neural network: dense layers one after the other, the last one without activation, and a loss on
// its outputs. Softmax regression is the network without hidden layers.

#pragma once

#include "troupe/models/activation.hpp"
#include "troupe/models/initialization.hpp"
#include "troupe/models/layers/dense.hpp"
#include "troupe/models/model.hpp"

#include <vector>

namespace troupe {

struct neural_network_options {
  size_t features = 0;        ///< F, >= 1
  size_t outputs = 0;         ///< C, >= 1
  std::vector<size_t> hidden; ///< units of each hidden layer, each >= 1; none: a linear model
  activation_kind activation = activation_kind::relu; ///< of the hidden layers
  loss_kind loss = loss_kind::categorical_cross_entropy;
  initialization_kind initialization = initialization_kind::he;
};

/// Parameters `layers.N.weight` [outputs, inputs] and `layers.N.bias` [outputs], layer by layer.
class neural_network : public model {
public:
  /// Throws std::invalid_argument when an extent is 0.
  explicit neural_network(const neural_network_options& options);

  void initialize(uint64_t seed, std::span<float> parameters) const override;
  batch_sums gradient(std::span<const float> parameters, const batch& rows,
                      std::span<float> gradient_out, workspace& memory) const override;
  batch_sums evaluate(std::span<const float> parameters, const batch& rows,
                      workspace& memory) const override;
  void predict(std::span<const float> parameters, std::span<const float> features,
               std::span<float> out, workspace& memory) const override;

  const std::vector<dense_layer>& layers() const noexcept { return layers_; }

private:
  /// Runs all layers on N rows; slot i of `memory` receives the output of layer i. Returns scores.
  std::span<float> forward(std::span<const float> parameters, std::span<const float> features,
                           size_t row_count, workspace& memory) const;
  size_t offset_of(size_t layer) const { return layout_.tensors()[2 * layer].offset; }
  std::span<const float> part(std::span<const float> parameters, size_t layer) const;

  std::vector<dense_layer> layers_;
  initialization_kind initialization_;
};

} // namespace troupe
