// Linear regression in closed form: the parameters of least squared error, without iterating.

#pragma once

#include "troupe/models/batch.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

/// Minimises sum_i |W x_i + b - y_i|^2 by the normal equations of the centred columns,
/// (Xc^T Xc) W^T = Xc^T Yc, solved by Cholesky's decomposition in double; b follows from the means.
///
/// Shapes: `rows` holds N rows of F features and T targets. Returns the parameters of a linear
/// regression in its layout: W (T x F), then b (T). The result is a function of the rows and their
/// order alone. Costs N F^2 / 2 + F^3 / 6 multiplications; the squared condition of the features
/// counts, so columns of similar scale (standardised) are solved best.
///
/// Throws std::invalid_argument when shapes differ, or when columns depend on each other (a
/// constant column included), so that no single answer exists.
std::vector<float> least_squares(const batch& rows, size_t feature_count, size_t target_count);

} // namespace troupe
