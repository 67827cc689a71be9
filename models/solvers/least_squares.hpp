// Linear regression in closed form: the parameters of least squared error, without iterating.

#pragma once

#include "models/base/batch.hpp"

#include <cstddef>
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

} // namespace troupe
