// "Did you mean": the existing name that a person most likely meant by a wrong one.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Edits (insert, remove, replace a byte; swap two neighbours) that turn `left` into `right`
/// (Damerau & Levenshtein, optimal string alignment).
size_t edit_distance(std::string_view left, std::string_view right);

/// The name in `names` closest to `wanted`, letter case aside; empty when none is close: more than
/// a third of the letters of `wanted`, and more than one, or all, would have to change. The first of
/// equals.
std::string_view closest_name(std::string_view wanted, std::span<const std::string> names);

/// "did you mean 'epochs'?", or empty when no name is near.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names);

} // namespace troupe
