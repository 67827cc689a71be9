// Adafactor (Shazeer & Stern 2018, "Adaptive learning rates with sublinear memory cost", algorithms
// 4 to 6): second moments of a matrix kept as the sums of its rows and columns alone.
//
// With X a tensor of n rows and m columns, G its mean gradient, t counted from 0, k = t + 1,
// b = 1 - k^-0.8; state R (n) and C (m), 0 at first:
//   R' = b R + (1 - b) (row sums of G^2 + e1);  C' = b C + (1 - b) (column sums of G^2 + e1)
//   V  = R' C' / sum(R');  U = G / sqrt(V);  U := U / max(1, RMS(U) / d)
//   X' = X - a U,  a = max(e2, RMS(X)) min(learning rate, 1 / sqrt(k))
// A tensor of one dimension keeps V whole: V' = b V + (1 - b) (G^2 + e1). Constants are the
// paper's: learning rate 0.01, e1 = 1e-30 (`epsilon`), e2 = 1e-3, d = 1. Tensors of more dimensions
// are read as shape[0] rows.
//
// The rule is not element-wise: it needs sums over whole tensors. Its state is two slots of the
// model's size. Tensor X with its first element at o keeps R (or V) from o on in slot 0 and C from
// o on in slot 1; the rest stays 0. So a checkpoint needs to know no tensor's shape; the memory the
// paper saves is not saved. All sums are in double, in fixed order: the same bits on every machine.

#pragma once

#include "models/network/parameter_layout.hpp"
#include "models/whole_model/whole_model_rule.hpp"

namespace troupe {

class adafactor : public whole_model_rule {
public:
  adafactor(const optimizer_options& options, parameter_layout layout);

  optimizer_state start(std::span<const float> parameters) const override;
  std::optional<batch_sums> update(const whole_model_update& x,
                                   optimizer_state& state) const override;

private:
  parameter_layout layout_;
};

} // namespace troupe
