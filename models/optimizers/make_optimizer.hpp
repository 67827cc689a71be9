// From an optimizer's name to the rule: the one place that knows all rules that work element by
// element.

#pragma once

#include "troupe/models/optimizers/optimizer.hpp"

#include <memory>

namespace troupe {

/// The optimizer of the given options.
/// Throws std::invalid_argument when a constant is out of its range, or the kind's rule is not
/// element-wise.
std::unique_ptr<optimizer> make_optimizer(const optimizer_options& options);

} // namespace troupe
