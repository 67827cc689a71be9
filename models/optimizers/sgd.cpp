#include "troupe/models/optimizers/sgd.hpp"

#include "troupe/models/base/multiversion.hpp"

#include <stdexcept>

namespace troupe {

namespace {

TROUPE_MULTIVERSION void update_plain(const float* __restrict gradient_sum,
                                      const float* __restrict parameters, float* __restrict next,
                                      size_t count, float factor, float rate) {
  for (size_t i = 0; i < count; ++i)
    next[i] = parameters[i] - rate * (gradient_sum[i] * factor);
}

struct momentum_step {
  float factor;
  float rate;
  float momentum;
  float gradient_share; ///< of the direction: 0, or 1 for nesterov
  float velocity_share; ///< of the direction: 1, or the momentum for nesterov
};

TROUPE_MULTIVERSION void update_with_momentum(const float* __restrict gradient_sum,
                                              const float* __restrict parameters,
                                              float* __restrict next, float* __restrict velocity,
                                              size_t count, const momentum_step& step) {
  const auto [factor, rate, momentum, gradient_share, velocity_share] = step;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient_sum[i] * factor;
    const float v = momentum * velocity[i] + g;
    velocity[i] = v;
    next[i] = parameters[i] - rate * (gradient_share * g + velocity_share * v);
  }
}

} // namespace

sgd::sgd(const optimizer_options& options) : optimizer(options, optimizer_kind::sgd) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw std::invalid_argument("sgd: momentum must be in [0, 1)");
  if (options.nesterov && options.momentum == 0)
    throw std::invalid_argument("sgd: nesterov needs a momentum above 0");
}

void sgd::update(const update_step& step, const update_piece& piece,
                 const optimizer_state& state) const {
  if (slot_count() == 0)
    return update_plain(piece.gradient_sum, piece.parameters, piece.next, piece.count,
                        step.gradient_factor, step.learning_rate);
  const auto momentum = static_cast<float>(options().momentum);
  const bool nesterov = options().nesterov;
  update_with_momentum(piece.gradient_sum, piece.parameters, piece.next,
                       state.slot(0).data() + piece.offset, piece.count,
                       {step.gradient_factor, step.learning_rate, momentum, nesterov ? 1.0f : 0.0f,
                        nesterov ? momentum : 1.0f});
}

} // namespace troupe
