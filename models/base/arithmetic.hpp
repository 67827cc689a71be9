// The arithmetic of this library: one law for sums, products and functions (docs/numerics.md), so that a job gives the
// same bits on every processor and with every compiler.

#pragma once

#include <string>

namespace troupe {

/// Its name in jobs, checkpoints and processes. Any change of results needs another name: of the blocks of products
/// (models/math/product_kernels.hpp), the lanes of sums (models/math/lanes.hpp), a function's polynomial.
inline constexpr const char* arithmetic_name = "1";

/// Runs fixed computations with the instructions in use and compares their hashes with the right ones. Empty when all
/// are right; else, with a broken build, emulator or processor, as "products: 0123456789abcdef instead of
/// fedcba9876543210". Computed once for each instruction set, in some milliseconds.
std::string arithmetic_problem();

/// What a process sends of its arithmetic: the name, or what is wrong.
std::string own_arithmetic();

} // namespace troupe
