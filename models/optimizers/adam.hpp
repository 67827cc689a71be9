// Adam (Kingma & Ba 2015, algorithm 1), with the paper's constants as defaults.
//
// With g the mean gradient, a the learning rate, t counted from 0; state m and v, 0 at first:
//   m' = b1 m + (1 - b1) g;  v' = b2 v + (1 - b2) g^2
//   p' = p - a (m' / (1 - b1^(t+1))) / (sqrt(v' / (1 - b2^(t+1))) + epsilon)

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class adam : public optimizer {
public:
  /// Throws std::invalid_argument unless 0 <= beta1, beta2 < 1 and epsilon > 0.
  explicit adam(const optimizer_options& options) : optimizer(options, optimizer_kind::adam) {}

  size_t slot_count() const override { return 2; }
  update_step begin_step(uint64_t t, uint64_t sample_count, direction way) const override;
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
