// Neural network: dense layers one after the other, the last one without activation, and a loss on
// its outputs. Linear, logistic and softmax regression are the network without hidden layers.

#pragma once

#include "troupe/models/layers/dense.hpp"
#include "troupe/models/network/activation.hpp"
#include "troupe/models/network/initialization.hpp"
#include "troupe/models/network/model.hpp"

#include <vector>

namespace troupe {

struct neural_network_options {
  size_t features = 0;        ///< F, >= 1
  size_t outputs = 0;         ///< C, >= 1; 1 for a binary loss
  std::vector<size_t> hidden; ///< units of each hidden layer, each >= 1; none: a linear model
  activation_list activation = activation_kind::relu; ///< of the hidden layers
  loss_options loss = loss_kind::categorical_cross_entropy;
  initialization_kind initialization = initialization_kind::he;
  double initialization_scale = default_initialization_scale;
  bool bias = true;   ///< false: no layer has one
  double dropout = 0; ///< of hidden units in `gradient` alone, in [0, 1)
};

/// Parameters `layers.N.weight` [outputs, inputs] and, unless without bias, `layers.N.bias`
/// [outputs], layer by layer.
class neural_network : public model {
public:
  /// Throws std::invalid_argument when an extent is 0, when the activations are neither one nor as
  /// many as hidden layers, when a binary loss meets several outputs, or for a dropout not in
  /// [0, 1).
  explicit neural_network(const neural_network_options& options);

  void initialize(uint64_t seed, std::span<float> parameters) const override;
  using model::gradient;
  /// Hands over a layer at a time: first those that are wanted first, by their middle element.
  batch_sums gradient(std::span<const float> parameters, const batch& rows,
                      std::span<float> gradient_out, workspace& memory,
                      const gradient_listener* listener) const override;
  void score_derivatives(std::span<const float> parameters, std::span<const float> features,
                         size_t output, std::span<float> out, workspace& memory) const override;
  batch_sums evaluate(std::span<const float> parameters, const batch& rows,
                      workspace& memory) const override;
  void predict(std::span<const float> parameters, std::span<const float> features,
               std::span<float> out, workspace& memory) const override;

  const std::vector<dense_layer>& layers() const noexcept { return layers_; }

private:
  /// Runs all layers on N rows and returns the scores. `drops`: also silences units as training
  /// does. What backward needs stays in `memory`.
  std::span<float> forward(std::span<const float> parameters, const batch& rows, bool drops,
                           workspace& memory) const;
  /// `gradient` of a model without hidden layers and with few outputs.
  batch_sums sweep(std::span<const float> parameters, const batch& rows,
                   std::span<float> gradient_out, workspace& memory) const;
  /// Takes the loss's derivative down to layer 0's outputs; all of them stay in `memory`.
  void descend(std::span<const float> parameters, const batch& rows, workspace& memory) const;
  /// The derivative behind layer `i` of these rows; of the last layer it lies over the scores.
  std::span<float> delta_of(size_t i, const batch& rows, workspace& memory) const;
  /// The derivative behind hidden layer `i`, in place: from after its dropout to before its
  /// activation.
  void through_activation(size_t i, std::span<float> delta, workspace& memory) const;
  /// What layer `i` read in the last forward pass of training.
  std::span<const float> input_of(size_t i, const batch& rows, workspace& memory) const;
  bool drops_after(size_t layer) const { return dropout_ > 0 && layer + 1 < layers_.size(); }
  size_t offset_of(size_t layer) const { return offsets_[layer]; }
  std::span<const float> part(std::span<const float> parameters, size_t layer) const;

  std::vector<dense_layer> layers_;
  std::vector<size_t> offsets_; ///< of each layer's parameters
  initialization_kind initialization_;
  double initialization_scale_;
  double dropout_;
};

} // namespace troupe
