// A chain of layers (models/layers/layer.hpp) and a loss on what the last one gives: convolutional
// networks and transformers. `kind = "chain"` in a job (models/kinds/chain_kind.hpp). Tensors are called
// `layers.N.weight`, N the number of the step: layers count, and so do the ends of residual blocks.

#pragma once

#include "models/network/chained_model.hpp"
#include "models/segments/layer_segments.hpp"

#include <vector>

namespace troupe {

class layer_chain : public chained_model {
public:
  /// The last block gives C scores a row. `parts`: in which pairs are computed (layer_segments.hpp).
  /// Throws std::invalid_argument when blocks do not fit each other, F or C, when there is nothing to
  /// learn, and for no parts.
  layer_chain(size_t feature_count, size_t output_count, loss_options loss,
              std::vector<chain_block> blocks, size_t parts = 1);

  const layer_segments& chain() const override { return chain_; }
  bool is_random() const override { return chain_.is_random(); }

private:
  void do_initialize(uint64_t seed, const index_range& elements,
                     std::span<float> out) const override;

  std::vector<layer_tensor> tensors_; ///< of all layers; their names are those in files
  layer_segments chain_;
};

} // namespace troupe
