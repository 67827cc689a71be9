// Adafactor (Shazeer & Stern 2018, "Adaptive learning rates with sublinear memory cost", algorithms
// 4 to 6): second moments of a matrix kept as the sums of its rows and columns alone.
//
// With X a tensor of n rows and m columns, G its mean gradient, t counted from 0, k = t + 1,
// b = 1 - k^-0.8; state R (n) and C (m), 0 at first:
//   R' = b R + (1 - b) (row sums of G^2 + e1);  C' = b C + (1 - b) (column sums of G^2 + e1)
//   V  = R' C' / sum(R');  U = G / sqrt(V);  U := U / max(1, RMS(U) / d)
//   X' = X - a U,  a = max(e2, RMS(X)) min(0.01, 1 / sqrt(k))
// A tensor of one dimension keeps V whole: V' = b V + (1 - b) (G^2 + e1). Defaults are the paper's:
// e1 = 1e-30, e2 = 1e-3, d = 1. Tensors of more dimensions are read as shape[0] rows.
//
// The rule is not element-wise: it needs sums over whole tensors, so it works on whole parameter
// vectors and is no `optimizer` that a shard could run on its part; how shards would exchange row
// and column sums is left to a later step. All sums are in double, in fixed order: the same bits
// on every machine.

#pragma once

#include "troupe/models/parameter_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

struct adafactor_options {
  std::optional<double> learning_rate; ///< min(0.01, 1 / sqrt(k)) when absent; > 0
  double epsilon1 = 1e-30;             ///< added to squares of gradients, > 0
  double epsilon2 = 1e-3;              ///< least scale of a tensor, > 0
  double threshold = 1;                ///< greatest RMS of an update, > 0
  double decay_exponent = 0.8;         ///< b = 1 - k^-this, in (0, 1]

  friend bool operator==(const adafactor_options&, const adafactor_options&) = default;
};

class adafactor {
public:
  /// Throws std::invalid_argument for options out of range.
  adafactor(const adafactor_options& options, parameter_layout layout);

  /// Moves `parameters` (P, the layout's) by one step; the gradient (P) is summed over
  /// `sample_count` samples. False, with nothing changed, when a gradient is not finite. Throws
  /// std::invalid_argument for other sizes or no samples.
  bool step(std::span<const float> gradient_sum, uint64_t sample_count,
            std::span<float> parameters);

  uint64_t step_count() const { return step_count_; }

private:
  /// Second moments of a tensor: row and column sums, or for one dimension all in `rows`.
  struct moments {
    size_t row_count = 0;
    size_t column_count = 0; ///< 0: not factored
    std::vector<double> rows;
    std::vector<double> columns;
  };

  void update_moments(moments& kept, const double* gradient, double decay) const;
  /// Turns the gradient into the update U, before its clipping.
  void precondition(const moments& kept, double* gradient) const;
  double rate(std::span<const float> tensor) const;

  adafactor_options options_;
  parameter_layout layout_;
  std::vector<moments> kept_; ///< by tensor
  std::vector<double> work_;  ///< of the largest tensor
  uint64_t step_count_ = 0;
};

} // namespace troupe
