// Chains of layers and rows for them, for tests.

#pragma once

#include "models/kinds/chain_kind.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::test {

inline batch rows_of(size_t count, std::span<const float> features,
                     std::span<const int32_t> labels) {
  batch result;
  result.row_count = count;
  result.features = features;
  result.labels = labels;
  return result;
}

inline const loss_options cross_entropy = loss_kind::categorical_cross_entropy;

inline std::unique_ptr<layer_chain> chain_of(const std::string& layers, std::vector<size_t> shape,
                                             size_t outputs = 3,
                                             loss_options loss = cross_entropy) {
  const auto features = size_of(shape);
  return make_chain({std::move(shape), layers, true}, features, outputs, loss);
}

} // namespace troupe::test
