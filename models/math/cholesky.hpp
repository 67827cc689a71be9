// Cholesky's decomposition of a symmetric positive definite matrix, in double, in a fixed order.

#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace troupe {

/// Overwrites the lower triangle of `matrix` (N x N, row-major; the upper one is not read) with L,
/// L L^T = matrix. Returns nothing on success, else the first row whose pivot is lost in rounding
/// (below 1e-12 of its diagonal element): it follows from the rows before it.
///
/// Throws std::invalid_argument when `matrix` has no N x N elements.
std::optional<size_t> cholesky_decompose(std::span<double> matrix, size_t size);

/// Solves L L^T x = b in place: `x` (N) holds b, then x. `lower` as `cholesky_decompose` leaves it.
void cholesky_solve(std::span<const double> lower, std::span<double> x);

} // namespace troupe
