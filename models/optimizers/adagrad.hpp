// AdaGrad (Duchi, Hazan & Singer 2011, figure 1 with a diagonal matrix).
//
// With g the mean gradient, a the learning rate; state s, 0 at first:
//   s' = s + g^2;  p' = p - a g / (sqrt(s') + epsilon)
//
// epsilon is the paper's delta: without it a parameter that has seen no gradient would be 0 / 0.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

namespace troupe {

class adagrad : public optimizer {
public:
  /// Throws std::invalid_argument unless epsilon > 0.
  explicit adagrad(const optimizer_options& options)
    : optimizer(options, optimizer_kind::adagrad) {}

  size_t slot_count() const override { return 1; }
  void update(const update_step& step, const update_piece& piece,
              const optimizer_state& state) const override;
};

} // namespace troupe
