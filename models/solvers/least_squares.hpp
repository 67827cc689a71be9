// Regressions of least squared error: linear ones in closed form, without iterating, and steps of Gauss-Newton.

#pragma once

#include "models/base/batch.hpp"
#include "models/network/model.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

struct least_squares_options {
  bool bias = true;   ///< false: b = 0 and is left out, columns are not centred
  double penalty = 0; ///< r >= 0: ridge regression (Hoerl & Kennard 1970); b is not penalised
};

/// Why there is no single solution: feature `column` is constant or follows from those before it.
class dependent_column : public std::invalid_argument {
public:
  explicit dependent_column(size_t column)
    : std::invalid_argument("least squares: feature " + std::to_string(column) +
                            " is constant or follows from the features before it"),
      column_(column) {}

  size_t column() const noexcept { return column_; }

private:
  size_t column_;
};

/// Minimises sum_i v_i |W x_i + b - y_i|^2 + r |W|^2, v_i the rows' weights, by the normal equations of the
/// centred columns, (Xc^T V Xc + r I) W^T = Xc^T V Yc, solved by Cholesky's decomposition in double; b follows from the
/// means.
///
/// Shapes: `rows` holds N rows of F features and T targets. Returns the parameters of a linear
/// regression in its layout: W (T x F), then b (T). The result is a function of the rows and their
/// order alone. Costs N F^2 / 2 + F^3 / 6 multiplications; the squared condition of the features
/// counts, so columns of similar scale (standardised) are solved best.
///
/// Throws std::invalid_argument when shapes differ, the penalty is negative or no weight is above 0, and dependent_column
/// when columns depend on each other (a constant column included), so that no single answer exists;
/// a penalty helps.
std::vector<float> least_squares(const batch& rows, size_t feature_count, size_t target_count,
                                 const least_squares_options& options = {});

// Gauss-Newton for small regressions: a step that treats the model as linear around its parameters.
// With damping it is the method of Levenberg (1944) and Marquardt (1963).

struct gauss_newton_options {
  double damping = 0; ///< lambda >= 0: 0 is Gauss-Newton, more is shorter and nearer to descent
};

/// next = parameters - (J^T W J + lambda I)^-1 J^T W r, with residuals r = s - y over the batch's N
/// rows and T outputs, J (N T x P) the derivatives of the scores and W the rows' weights. In double but for the
/// derivatives themselves, which are the model's; sums in the order of the rows. For a linear model
/// one undamped step is least squares. The model must be one without dropout.
///
/// Costs N T P^2 / 2 + P^3 / 6 multiplications and P^2 doubles: for hundreds of parameters.
/// Returns the batch's sums at `parameters`. Throws std::invalid_argument when the model is not
/// trained with the squared loss, when shapes differ, and when J^T J + lambda I has no inverse.
batch_sums gauss_newton_step(const model& network, const gauss_newton_options& options,
                             const batch& rows, std::span<const float> parameters,
                             std::span<float> next, workspace& memory);

// Cholesky's decomposition of a symmetric positive definite matrix, in double, in a fixed order.

/// Overwrites the lower triangle of `matrix` (N x N, row-major; the upper one is not read) with L,
/// L L^T = matrix. Returns nothing on success, else the first row whose pivot is lost in rounding
/// (below 1e-12 of its diagonal element): it follows from the rows before it.
///
/// Throws std::invalid_argument when `matrix` has no N x N elements.
std::optional<size_t> cholesky_decompose(std::span<double> matrix, size_t size);

/// Solves L L^T x = b in place: `x` (N) holds b, then x. `lower` as `cholesky_decompose` leaves it.
void cholesky_solve(std::span<const double> lower, std::span<double> x);

} // namespace troupe
