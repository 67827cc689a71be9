// Neural network: dense layers one after the other, the last one without activation, and a loss on
// its outputs. Linear, logistic and softmax regression are the network without hidden layers.

#pragma once

#include "models/network/activation.hpp"
#include "models/network/chained_model.hpp"
#include "models/network/initialization.hpp"
#include "models/segments/dense_chain.hpp"

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
  bool bias = true;                 ///< false: no layer has one
  double dropout = 0;               ///< of hidden units in `gradient` alone, in [0, 1)
  size_t parts = 1;                 ///< in which cut layers are computed (layer_cuts.hpp), >= 1
  std::vector<layer_cut> cuts = {}; ///< of each layer; empty: the cheapest ones
  bool sparse =
    false; ///< rows are; then the first layer is not cut, and its weight lies by features
};

/// Parameters `layers.N.weight` [outputs, inputs] and, unless without bias, `layers.N.bias`
/// [outputs], layer by layer: the logical order.
class neural_network : public chained_model {
public:
  /// Throws std::invalid_argument when an extent is 0, when the activations are neither one nor as
  /// many as hidden layers, when a binary loss meets several outputs, for a dropout not in [0, 1), for
  /// no parts, and for cuts that are none.
  explicit neural_network(const neural_network_options& options);

  const dense_chain& chain() const override { return chain_; }
  bool is_random() const override { return chain_.dropout() > 0; }

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override;
  batch_sums do_gradient(std::span<const float> parameters, const batch& rows,
                         std::span<float> gradient_out, workspace& memory,
                         const gradient_listener* listener) const override;
  /// Initial weights of a piece that lies column by column, as far as they are among `elements`.
  void initialize_columns(const initialization_request& first, const layout_piece& piece,
                          const index_range& elements, std::span<float> out) const;
  /// Whether the gradient is taken piece by piece: that of a model without hidden layers, which is not
  /// cut and has sparse rows or few outputs.
  bool sweeps() const;
  batch_sums sweep(std::span<const float> parameters, const batch& rows,
                   std::span<float> gradient_out, workspace& memory) const;

  dense_chain chain_;
  initialization_kind initialization_;
  double initialization_scale_;
};

} // namespace troupe
