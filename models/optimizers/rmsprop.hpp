// RMSProp (Hinton, Srivastava & Swersky 2012, Neural networks for machine learning, lecture 6e).
//
// With g the mean gradient, a the learning rate; state s, 0 at first:
//   s' = rho s + (1 - rho) g^2;  p' = p - a g / (sqrt(s') + epsilon)
//
// rho is the share that is *kept*: 0.9 as in the lecture. The lecture has no epsilon; it stands
// where PyTorch has it.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class rmsprop : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= rho < 1 and epsilon > 0.
  explicit rmsprop(const optimizer_options& options)
    : optimizer(options, optimizer_kind::rmsprop) {}

  size_t slot_count() const override { return 1; }
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
