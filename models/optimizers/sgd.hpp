// Stochastic gradient descent, plain, with momentum, or with Nesterov's momentum.
//
// With g the mean gradient, a the learning rate, m the momentum and v the velocity (state, 0 at
// first):
//   plain:     p' = p - a g
//   momentum:  v' = m v + g;  p' = p - a v'                 (Polyak 1964)
//   nesterov:  v' = m v + g;  p' = p - a (g + m v')         (Sutskever et al. 2013, as in PyTorch)

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class sgd : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= momentum < 1, and for nesterov without momentum.
  explicit sgd(const optimizer_options& options);

  size_t slot_count() const override { return options().momentum > 0 ? 1 : 0; }
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
