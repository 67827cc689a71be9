// Merging that a few bad models cannot spoil: one that diverged, was sent damaged, or lies.
//
// n models with one layout, P parameters each; up to f of them may be anything at all. An average
// follows a single bad model wherever it goes; these do not:
//   - coordinate median and trimmed mean look at each parameter alone: cheap (P n log n), good for
//     n > 2 f;
//   - Krum and multi-Krum look at whole models and keep those with close neighbours: n^2 P, n > 2 f
//     + 2; what they return are models that were sent (or averages of some);
//   - the geometric median is the point whose distances to all models add up to the least: one
//     figure for the whole model, and it does not depend on the axes.
// Distances and sums are in double, in fixed lanes and in the order given. With models in the order
// of children the bits do not depend on the order of arrival.

#pragma once

#include "models/merging/average.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// The middle value of each parameter (the mean of the two middle ones for an even n).
/// Yin et al. 2018, "Byzantine-robust distributed learning: towards optimal statistical rates",
/// definition 1. Throws std::invalid_argument as weighted_sum does, as all of these do.
std::vector<float> coordinate_median(model_list models);

/// The mean of each parameter without its `trimmed_count` least and greatest values (Yin et al.
/// 2018, definition 2). Throws std::invalid_argument unless 2 trimmed_count < n.
std::vector<float> trimmed_mean(model_list models, size_t trimmed_count);

/// Scores of Krum: score_i = sum of |theta_i - theta_j|^2 over the n - f - 2 models j nearest to i.
/// Blanchard et al. 2017, "Machine learning with adversaries: Byzantine tolerant gradient descent".
/// Throws std::invalid_argument unless n > 2 f + 2, the paper's condition.
std::vector<double> krum_scores(model_list models, size_t faulty_count);

/// The model of least score; of equals the first.
std::vector<float> krum(model_list models, size_t faulty_count);

/// The average of the `kept_count` models of least score (of equals the first ones), added in the
/// order given; 0 stands for n - f - 2, the greatest number that El Mhamdi et al. 2018 ("The hidden
/// vulnerability of distributed learning in Byzantium", appendix) prove safe. 1 is Krum. Throws
/// std::invalid_argument for more than n.
std::vector<float> multi_krum(model_list models, size_t faulty_count, size_t kept_count = 0);

struct geometric_median_options {
  double tolerance = 1e-6; ///< done when a move is shorter than this share of the mean distance
  size_t steps_max = 1000; ///< then the point reached is returned, and `converged` is false

  friend bool operator==(const geometric_median_options&,
                         const geometric_median_options&) = default;
};

struct geometric_median_result {
  std::vector<float> values; ///< P
  size_t steps = 0;
  bool converged = false;
};

/// The y of least sum_i w_i |theta_i - y|, by Weiszfeld's steps (1937) from the weighted mean,
///   y' = (sum_i w_i theta_i / d_i) / (sum_i w_i / d_i),  d_i = |theta_i - y|,
/// with the step of Vardi & Zhang 2000 ("The multivariate L1-median and associated data depth")
/// where y is one of the models, which Weiszfeld divides by 0 at. Convergence is linear at best.
/// `weights`: n numbers as merge_weights.hpp makes them.
geometric_median_result geometric_median(model_list models, std::span<const double> weights,
                                         const geometric_median_options& options = {});

/// A faulty member's model, for rehearsals of robust merging.
/// values (P) := start - factor (values - start), element by element: the update reversed, and
/// `factor` times as long. Throws std::invalid_argument when sizes differ.
void flip_update(std::span<const float> start, double factor, std::span<float> values);

} // namespace troupe
