// AdaMax (Kingma & Ba 2015, algorithm 2): Adam with the greatest gradient in place of the root of
// the mean square.
//
// With g the mean gradient, a the learning rate, t counted from 0; state m and u, 0 at first:
//   m' = b1 m + (1 - b1) g;  u' = max(b2 u, |g| + epsilon)
//   p' = p - a / (1 - b1^(t+1)) m' / u'
//
// The paper has no epsilon and divides 0 by 0 while a parameter has seen no gradient; as in PyTorch
// it is added to |g|. Defaults: the paper's betas.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class adamax : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= beta1, beta2 < 1 and epsilon > 0.
  explicit adamax(const optimizer_options& options) : optimizer(options, optimizer_kind::adamax) {}

  size_t slot_count() const override { return 2; }
  update_step begin_step(uint64_t t, uint64_t sample_count, direction way) const override;
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
