// Sums over a model that is cut into parts: each block of fixed size has its numbers, and those of all
// blocks are added in one tree over the blocks. So a total does not depend on who holds which blocks.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// Elements of a block.
inline constexpr size_t norm_block_size = 4096;

/// Numbers of blocks in order, `count` of each: the sums over the blocks. (count)
std::vector<double> totals_of_blocks(std::span<const double> numbers, size_t count);

} // namespace troupe
