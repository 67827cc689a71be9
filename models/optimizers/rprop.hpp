// Rprop (Riedmiller & Braun 1993), in the form without backtracking (Igel & Husken 2003, iRprop-):
// only the sign of the gradient counts, and each parameter has a step of its own.
//
// With g the mean gradient, e the sign of the gradient before, d the step; state e and d, 0 at
// first (a d of 0 stands for the learning rate of the first step):
//   g e > 0:  d' = min(1.2 d, 50)             same direction: longer
//   g e < 0:  d' = max(0.5 d, 1e-6), g := 0   went too far: shorter, and this step does not count
//   else:     d' = d
//   p' = p - sign(g) d';  e' = sign(g)
//
// The learning rate is the first step only; a schedule means nothing to this rule but there. Signs
// say nothing when they come from other rows each time: use it with the full batch.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class rprop : public optimizer {
public:
  /// Throws std::invalid_argument unless the learning rate is positive.
  explicit rprop(const optimizer_options& options) : optimizer(options, optimizer_kind::rprop) {}

  size_t slot_count() const override { return 2; }
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
