// Products of a dense layer with few outputs, one sweep over its rows each.
//
// BLAS packs both operands before it multiplies; for a handful of outputs that reads and writes the
// rows more often than the product itself does. These kernels read each row once, and rows that lie
// in a cache from the product before are read from there (neural_network.cpp takes linear models
// through in pieces for that).
//
// Shapes: R rows, I inputs, O outputs, row-major. Sums run in 16 fixed lanes, so the bits do not
// depend on the instruction set.

#pragma once

#include <cstddef>
#include <span>

namespace troupe {

/// With more outputs BLAS is faster.
inline constexpr size_t narrow_outputs_max = 4;

/// Features of a piece of rows that stay in a first-level cache of 32 KiB while they are used
/// twice. Each of the two products fetches a half of the piece that comes next: with the forward
/// product alone doing it, memory stood still during the other. Of more rows, which such a cache does
/// not keep, the forward product fetches all.
inline constexpr size_t narrow_piece_values = 6'144;

/// y (R x O) = x (R x I) W^T with W (O x I), written.
void narrow_forward(std::span<const float> weight, std::span<const float> x, std::span<float> y,
                    size_t inputs, size_t outputs);

/// dW (O x I) += delta^T x with delta (R x O), x (R x I).
void narrow_gradient(std::span<const float> x, std::span<const float> delta,
                     std::span<float> gradient_out, size_t inputs, size_t outputs);

} // namespace troupe
