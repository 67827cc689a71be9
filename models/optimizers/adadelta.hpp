// AdaDelta (Zeiler 2012, algorithm 1), with the constants of the paper's experiments.
//
// With g the mean gradient, a the learning rate; state s (mean square of g) and d (of the steps),
// both 0 at first:
//   s' = rho s + (1 - rho) g^2
//   x  = sqrt(d + epsilon) / sqrt(s' + epsilon) g
//   d' = rho d + (1 - rho) x^2;  p' = p - a x
//
// The paper has no learning rate, so the default here is 1. Defaults: rho 0.95, epsilon 1e-6.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class adadelta : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= rho < 1 and epsilon > 0.
  explicit adadelta(const optimizer_options& options)
    : optimizer(options, optimizer_kind::adadelta) {}

  size_t slot_count() const override { return 2; }
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
