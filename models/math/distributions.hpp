// Draws of distributions from a sequence of random words (models/base/random.hpp), in double, with our
// own elementary functions: the same on every machine.

#pragma once

#include "troupe/models/base/random.hpp"

namespace troupe {

/// Normal with mean 0 and deviation 1 (Box & Muller 1958), two words.
double draw_normal(word_reader& words);

/// Log of a gamma variate with this shape > 0 and scale 1 (Marsaglia & Tsang 2000, "A simple method
/// for generating gamma variables"; below 1 by their boost, x u^(1/shape)). The log, since with a
/// shape of 0.001 most variates are below the least double.
double draw_log_gamma(word_reader& words, double shape);

} // namespace troupe
