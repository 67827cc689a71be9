#include "models/network/model.hpp"

#include "models/segments/dense_chain.hpp"

#include <array>
#include <mutex>
#include <stdexcept>

namespace troupe {

// In plans for shared models it is one layer, of so many inputs and one output.
const segment_chain& model::chain() const {
  static std::mutex making; // one for all models: they can be copied
  const std::lock_guard lock{making};
  if (!whole_)
    whole_ = std::make_shared<dense_chain>(
      dense_layout{
        {{layout_.size(), 1, activation_kind::identity, false}}, std::array{layer_cut::none}, 1},
      0.0);
  return *whole_;
}

void model::score_derivatives(std::span<const float>, std::span<const float>, size_t,
                              std::span<float>, workspace&) const {
  throw std::invalid_argument("this model has no derivatives of its scores");
}

} // namespace troupe
