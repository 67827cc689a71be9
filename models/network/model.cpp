#include "models/network/model.hpp"

#include "models/math/moves.hpp"
#include "models/segments/dense_chain.hpp"

#include <algorithm>
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

void model::clear_frozen(std::span<float> gradient, size_t first) const {
  for (const auto& range : frozen_) {
    const auto begin = std::clamp(range.begin, first, first + gradient.size());
    const auto end = std::clamp(range.end, first, first + gradient.size());
    fill_values(gradient.subspan(begin - first, end - begin), 0);
  }
}

batch_sums model::unfrozen_gradient(std::span<const float> parameters, const batch& rows,
                                    std::span<float> gradient_out, workspace& memory,
                                    const gradient_listener* listener) const {
  gradient_listener behind;
  if (listener)
    behind = *listener;
  if (behind.on_piece)
    behind.on_piece = [&](size_t begin, size_t end, const batch_sums& sums) {
      clear_frozen(gradient_out.subspan(begin, end - begin), begin);
      listener->on_piece(begin, end, sums);
    };
  const auto result =
    do_gradient(parameters, rows, gradient_out, memory, listener ? &behind : nullptr);
  clear_frozen(gradient_out, 0);
  return result;
}

void model::score_derivatives(std::span<const float>, std::span<const float>, size_t,
                              std::span<float>, workspace&) const {
  throw std::invalid_argument("this model has no derivatives of its scores");
}

} // namespace troupe
