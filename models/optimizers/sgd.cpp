#include "troupe/models/optimizers/sgd.hpp"

#include "troupe/models/lanes.hpp"

#include <stdexcept>

namespace troupe {

namespace {

bool update_plain(const update_step& step, const update_piece& piece) {
  const float* const __restrict sum = piece.gradient_sum;
  const float* const __restrict p = piece.parameters;
  float* const __restrict next = piece.next;
  return visit_finite(piece.count, [=](size_t i) {
    const float g = sum[i] * step.gradient_factor;
    next[i] = p[i] - step.learning_rate * g;
    return g * 0.0f + next[i] * 0.0f;
  });
}

bool update_with_momentum(const update_step& step, const update_piece& piece, float* velocity,
                          float momentum, bool nesterov) {
  const float* const __restrict sum = piece.gradient_sum;
  const float* const __restrict p = piece.parameters;
  float* const __restrict next = piece.next;
  float* const __restrict v = velocity;
  const float g_share = nesterov ? 1.0f : 0.0f;
  const float v_share = nesterov ? momentum : 1.0f;
  return visit_finite(piece.count, [=](size_t i) {
    const float g = sum[i] * step.gradient_factor;
    v[i] = momentum * v[i] + g;
    next[i] = p[i] - step.learning_rate * (g_share * g + v_share * v[i]);
    return g * 0.0f + next[i] * 0.0f;
  });
}

} // namespace

sgd::sgd(const optimizer_options& options) : optimizer(options) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw std::invalid_argument("sgd: momentum must be in [0, 1)");
  if (options.nesterov && options.momentum == 0)
    throw std::invalid_argument("sgd: nesterov needs a momentum above 0");
}

bool sgd::update(const update_step& step, const update_piece& piece,
                 const optimizer_state& state) const {
  if (slot_count() == 0)
    return update_plain(step, piece);
  return update_with_momentum(step, piece, state.slot(0).data() + piece.offset,
                              static_cast<float>(options().momentum), options().nesterov);
}

} // namespace troupe
