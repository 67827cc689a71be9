// Rows that somebody filled in: whether they hold together, before anything reads them.

#pragma once

#include "troupe/data/table/dataset.hpp"

namespace troupe {

/// Throws failure(bad_data), naming the row, the column and the value, for what dataset.hpp does not allow:
/// other numbers of values than the shape has, a label, client or group that there is not, a value that is not
/// finite (gaps that the columns' plan fills are none), a weight below 0.
void require_sound(const dataset& x);

} // namespace troupe
