// Delay compensation: what a late gradient would be at the parameters of now.
//
// A gradient g taken at old parameters w_old arrives when they are w. To first order the right one
// is g + H (w - w_old); the Hessian H is estimated from g itself:
//   g' = g + lambda g . g . (w - w_old)          (. is element by element)
// Zheng et al. 2017, "Asynchronous stochastic gradient descent with delay compensation" (DC-ASGD),
// eq. 10 and algorithm 2; g is the mean over samples. Adaptive (their section 6):
//   s' = m s + (1 - m) g . g;   lambda = lambda_0 / sqrt(s' + epsilon), element by element
// The estimate of H is never negative: meant for descent on losses that are log-likelihoods.

#pragma once

#include "models/base/saved_state.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

struct delay_compensation_options {
  double lambda = 0.04;  ///< >= 0; the paper's for constant lambda (2 for the adaptive one)
  bool adaptive = false; ///< divides by the root of a moving mean of squares
  double decay = 0.95;   ///< m in [0, 1); the paper's
  double epsilon = 1e-7; ///< > 0; the paper's

  friend bool operator==(const delay_compensation_options&,
                         const delay_compensation_options&) = default;
};

class delay_compensation {
public:
  delay_compensation() = default;

  /// Throws std::invalid_argument for constants out of range.
  explicit delay_compensation(const delay_compensation_options& options);

  /// Changes a gradient (P) that is summed over `sample_count` >= 1 samples. `read`: the parameters
  /// (P) it was taken at; `current`: those it will move. Where they are the same it stays as it is.
  /// Throws std::invalid_argument when sizes differ.
  void apply(std::span<float> gradient_sum, uint64_t sample_count, std::span<const float> read,
             std::span<const float> current);

  /// What it remembers: the moving mean, where it is adaptive.
  static state_shape shape_of(const delay_compensation_options& options) {
    return {options.adaptive ? vectors_of_doubles : 0, 0};
  }
  void save(state_saver& out) const;
  void load(state_loader& in);

  friend bool operator==(const delay_compensation&, const delay_compensation&) = default;

private:
  delay_compensation_options options_;
  std::vector<double> mean_square_; ///< s; empty before the first gradient
};

} // namespace troupe
