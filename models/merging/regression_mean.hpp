// Regression mean: merging linear regressions so that the result is the regression on all rows.
//
// A plain average of models that saw different rows is not the model of all rows. With the Gram
// matrix of each model's own rows it is:
//   W = (sum_i X_i^T X_i)^-1  sum_i X_i^T X_i W_i
// (Jin et al. 2023, "Dataless knowledge fusion by merging weights of language models", eq. 2.)
// Where each W_i solves least squares on X_i this is the least-squares solution of the pooled rows:
// X_i^T X_i W_i = X_i^T y_i. No row leaves its owner: a Gram matrix is sums over rows.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// X^T X of rows (N x F, row-major) in double, row-major; with `bias` X has a further, last column
/// of ones, and the result F + 1 rows. Throws std::invalid_argument when `rows` is no multiple of
/// F.
std::vector<double> gram_matrix(std::span<const float> rows, size_t feature_count, bool bias);

/// A linear regression and the rows behind it.
struct regression_part {
  std::span<const float> parameters; ///< W (T x F), then b (T) if it has a bias
  std::span<const double> gram;      ///< F x F, or (F + 1) x (F + 1) with a bias
};

/// The merged parameters, in the layout of the parts. Sums run in the order of the parts; solved by
/// Cholesky's decomposition in double.
/// Throws std::invalid_argument for no parts, for shapes that do not fit, and when the features of
/// all rows together depend on each other, so that there is no single answer.
std::vector<float> regression_mean(std::span<const regression_part> parts, size_t feature_count,
                                   size_t target_count, bool bias);

} // namespace troupe
