// "Did you mean ...?": hints that name the nearest of the words somebody could have meant.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// "did you mean 'epochs'?", or empty when no candidate is near (data/text/closest_name.hpp).
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

} // namespace troupe
