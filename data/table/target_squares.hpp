// What R^2 compares a model's squared errors with: those of the best constant.

#pragma once

#include "troupe/data/table/dataset.hpp"

namespace troupe {

/// Sum of squares of the targets (of the test rows, say) around their mean, over rows and targets;
/// 0 for a classification. What R^2 compares the squared errors with.
double total_squares(const dataset& rows);

} // namespace troupe
