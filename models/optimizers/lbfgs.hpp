// L-BFGS (Nocedal 1980; Liu & Nocedal 1989; Nocedal & Wright 2006, algorithm 7.4): Newton's method
// with an inverse Hessian that is guessed from the last moves and changes of the gradient.
//
// With g the mean gradient of all rows, pairs s = move, y = change of g, r = 1 / (s y), newest
// last; q := g
//   newest to oldest:  a_i = r_i s_i q;  q := q - a_i y_i
//   q := q (s y) / (y y)  of the newest pair
//   oldest to newest:  q := q + s_i (a_i - r_i y_i q)
//   p' = p - rate q
// The first step, without pairs, is rate min(1, 1 / |g|_1) along -g, as in PyTorch. A pair whose
// s y is at or below 1e-10 would break the guess and is not kept.
//
// There is no line search: use it with the full batch, where the loss is smooth, and rate 1. The
// rule is not element-wise: it needs dot products over the whole model, so it works on whole
// parameter vectors and is no `optimizer` that a shard could run on its part; how shards would
// exchange block sums of these products is left to a later step. Dot products are added in double
// in fixed lanes: the same bits on every machine.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace troupe {

struct lbfgs_options {
  double learning_rate = 1; ///< > 0
  size_t history_size = 10; ///< pairs kept, >= 1

  friend bool operator==(const lbfgs_options&, const lbfgs_options&) = default;
};

class lbfgs {
public:
  /// Throws std::invalid_argument for options out of range.
  explicit lbfgs(const lbfgs_options& options);

  /// Moves `parameters` (P) by one step; the gradient (P) at them is summed over `sample_count`
  /// samples. False, with the parameters unchanged, when a gradient is not finite or the direction
  /// does not lead down (the minimum is reached to the last digits). Throws std::invalid_argument
  /// for sizes that differ or no samples.
  bool step(std::span<const float> gradient_sum, uint64_t sample_count,
            std::span<float> parameters);

  size_t pair_count() const { return pairs_.size(); }

private:
  struct pair {
    std::vector<double> move;
    std::vector<double> change; ///< of the gradient
    double curvature;           ///< move * change, > 0
  };

  void remember(std::span<const double> gradient);
  /// -(inverse Hessian) g into direction_.
  void choose_direction(std::span<const double> gradient);

  lbfgs_options options_;
  std::deque<pair> pairs_; ///< newest last
  std::vector<double> gradient_before_;
  std::vector<double> move_;
  std::vector<double> direction_;
};

} // namespace troupe
