// AdamW (Loshchilov & Hutter 2019, "Decoupled weight decay regularization", algorithm 2): Adam, and
// beside it each parameter shrinks by a share of itself.
//
// With g the mean gradient, a the learning rate, d the weight decay, t counted from 0; state m and
// v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
//   p' = p - a d p - a (m' / (1 - b1^(t+1))) / (sqrt(v' / (1 - b2^(t+1))) + epsilon)
//
// The decay never enters g, m or v (that would be an L2 penalty, `l2`), and it is applied once, to
// every parameter. The paper's lambda is a d here: as in PyTorch, the rate with its schedule scales
// the decay too, so both fall together. The paper recommends no value; 0.01 is PyTorch's.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class adamw : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= beta1, beta2 < 1, epsilon > 0 and weight_decay >= 0.
  explicit adamw(const optimizer_options& options) : optimizer(options, optimizer_kind::adamw) {}

  size_t slot_count() const override { return 2; }
  update_step begin_step(uint64_t t, uint64_t sample_count, direction way) const override;
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
