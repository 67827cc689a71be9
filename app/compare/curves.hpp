// Curves of several runs as one SVG picture that needs nothing else: a panel for losses, one for
// accuracy and one for R2, where there are any, over steps. A run has a colour; train is solid,
// validation dashed, test dotted. It follows the reader's light or dark.

#pragma once

#include "troupe/app/compare/run_record.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe {

/// Of one curve: more are left out evenly, the last one never.
inline constexpr size_t curve_points_max = 1000;

/// Losses are drawn on a logarithmic scale when all are positive. What is not finite is a gap.
std::string curves_svg(std::span<const run_record> runs);

} // namespace troupe
