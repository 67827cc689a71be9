// The trials of a search: which values of which keys each has, in an order that follows from the command line
// alone.
//
//   --grid a.b=1,2,3                    every value, with every value of the other grids
//   --random a.b=1e-4..1e-1:log:8      eight draws; of several such keys each draw has a value of each
//
// Draws are functions of (seed, key, draw). Bounds that are written as whole numbers give whole numbers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A trial: its keys with their values as TOML or text, in the order of the command line.
using trial_values = std::vector<std::pair<std::string, std::string>>;

/// More are refused: each is a run of its own.
inline constexpr size_t trials_max = 10'000;

/// Grids outermost first, draws innermost. Throws failure(usage) that names the option.
std::vector<trial_values> sweep_trials(const std::vector<std::string>& grids,
                                       const std::vector<std::string>& randoms, uint64_t seed);

} // namespace troupe
