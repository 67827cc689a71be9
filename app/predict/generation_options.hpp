// What is to be written by a model of characters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

struct generation_options {
  size_t count = 0;        ///< characters to write
  std::string prompt = {}; ///< what they follow, UTF-8; of a long one the last window counts
  uint64_t seed = 0;       ///< of the draws: (seed, number of the character)
  bool is_greedy = false;  ///< the likeliest character each time, and nothing is drawn
};

} // namespace troupe
