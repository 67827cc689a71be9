// A comparison of runs for people, as tables, and for scripts, as one JSON object.

#pragma once

#include "troupe/app/compare/comparison.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace troupe {

/// Figures side by side (the best marked by '*'), what differed, and the bits.
std::string comparison_text(std::span<const run_record> runs, const run_comparison& found);

/// {runs: [figures], differences: [key, values, changes_bits], bits: [...]}. What is absent is null.
nlohmann::ordered_json comparison_object(std::span<const run_record> runs,
                                         const run_comparison& found);

} // namespace troupe
