// From an optimizer's name to the rule: the one place that knows all whole-model rules.

#pragma once

#include "troupe/models/network/parameter_layout.hpp"
#include "troupe/models/whole_model/whole_model_rule.hpp"

#include <memory>

namespace troupe {

/// The whole-model rule of the given options for a model of this layout.
/// Throws std::invalid_argument when a constant is out of its range, or the kind's rule is none.
std::unique_ptr<whole_model_rule> make_whole_model_rule(const optimizer_options& options,
                                                        const parameter_layout& layout);

} // namespace troupe
