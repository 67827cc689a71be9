// A portion in words, for people.

#pragma once

#include "troupe/coordinators/parallel/model_split.hpp"

#include <string>

namespace troupe {

/// "3", "0-3": the last is named, too.
std::string range_text(const index_range& x);

/// "slices 0-3, layers 0-1, part 0 of 2", without a part where layers are not cut; "spare" of one who
/// carries nothing.
std::string portion_text(const portion& work, const model_split& split);

} // namespace troupe
