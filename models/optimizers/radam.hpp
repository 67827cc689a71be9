// RAdam (Liu et al. 2020, "On the variance of the adaptive learning rate and beyond", algorithm 2):
// Adam that waits with the adaptive rate until enough gradients were seen to trust it.
//
// With g the mean gradient, a the learning rate, t counted from 0, k = t + 1; state m and v, 0 at
// first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2;  n' = m' / (1 - b1^k)
//   r_inf = 2 / (1 - b2) - 1;  r = r_inf - 2 k b2^k / (1 - b2^k)
//   r > 4:  p' = p - a n' sqrt((r - 4)(r - 2) r_inf / ((r_inf - 4)(r_inf - 2) r))
//                      sqrt(1 - b2^k) / (sqrt(v') + epsilon)
//   else:   p' = p - a n'
//
// The bound 4 is the paper's; PyTorch waits until r > 5, one step longer with the usual beta2. The
// paper has no epsilon; it stands where PyTorch has it.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class radam : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= beta1, beta2 < 1 and epsilon > 0.
  explicit radam(const optimizer_options& options) : optimizer(options, optimizer_kind::radam) {}

  size_t slot_count() const override { return 2; }
  update_step begin_step(uint64_t t, uint64_t sample_count, direction way) const override;
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
