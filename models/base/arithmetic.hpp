// The arithmetic of this library: one law for sums, products and functions (docs/numerics.md), so that a job gives the
// same bits on every processor, by every compiler.

#pragma once

#include <string>

namespace troupe {

/// What jobs, checkpoints and processes name it by. A change of what any job comes to is another one: of the blocks of
/// products (models/math/product_kernels.hpp), the lanes of sums (models/math/lanes.hpp), a function's polynomial.
inline constexpr const char* arithmetic_name = "1";

/// Fixed computations on this processor, in this build, with the instructions in use: what they come to beside what they
/// come to everywhere, as "products: 0123456789abcdef instead of fedcba9876543210"; empty when all is right, which a
/// broken build, emulator or processor is not. Computed once for each instruction set, in some milliseconds.
std::string arithmetic_problem();

/// What a process says of itself: the name, or what is wrong.
std::string own_arithmetic();

} // namespace troupe
