// Products of a dense layer with one output, one sweep over its rows each.
//
// Instead of chains of fused multiply-adds (models/math/products.hpp) sums run in 16 fixed lanes along each row, which
// gives the same bits with every instruction set as well. Each row is read once, and from the cache if the product
// before left it there (neural_network.cpp takes linear models through in pieces for that).
//
// Shapes: R rows, I inputs, row-major.

#pragma once

#include <cstddef>
#include <span>

namespace troupe {

/// Features of a piece of rows that stay in a first-level cache of 32 KiB while they are used
/// twice. Each of the two products fetches a half of the piece that comes next: with the forward
/// product alone doing it, memory stood still during the other. Of more rows, which such a cache does
/// not keep, the forward product fetches all.
inline constexpr size_t single_piece_values = 6'144;

/// y (R) = x (R x I) w, written.
void single_output_forward(std::span<const float> weight, std::span<const float> x,
                           std::span<float> y);

/// dw (I) += x^T delta with delta (R), x (R x I).
void add_single_output_gradient(std::span<const float> x, std::span<const float> delta,
                                std::span<float> gradient_out);

} // namespace troupe
