// NAdam (Dozat 2016, "Incorporating Nesterov momentum into Adam", algorithm 8).
//
// With g the mean gradient, a the learning rate, t counted from 0, k = t + 1, and the paper's
// momentum mu_k = b1 (1 - 0.96^(0.004 k) / 2), M_k = mu_1 mu_2 .. mu_k; state m and v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
//   p' = p - a ((1 - mu_k) g / (1 - M_k) + mu_(k+1) m' / (1 - M_(k+1)))
//              / (sqrt(v' / (1 - b2^k)) + epsilon)
//
// M_k is computed from k alone, so a resumed step is the same step; the product ends where
// 1 - M_k is 1 in double. m decays by b1, not mu_k, as in PyTorch (whose version 1.13 has mu_k
// twice in M_(k+1); later ones are as here).

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class nadam : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= beta1, beta2 < 1 and epsilon > 0.
  explicit nadam(const optimizer_options& options) : optimizer(options, optimizer_kind::nadam) {}

  size_t slot_count() const override { return 2; }
  update_step begin_step(uint64_t t, uint64_t sample_count, direction way) const override;
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
