// Probes: a hash of the bits that a kind of an application gives for small made inputs.
//
// Processes that train together compare them: two with different code under one name and version, or with
// the same code compiled differently, learn that before they train, not by a gradient that differs. A probe
// finds a forgotten change of version; it does not replace the version, and is no part of identities.

#pragma once

#include "models/kinds/metric_kinds.hpp"
#include "models/losses/own_loss.hpp"
#include "models/merging/merge_rule.hpp"
#include "models/network/model.hpp"
#include "models/network/own_activation.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/result_rule.hpp"
#include "models/training/schedule.hpp"

#include <string>

namespace troupe {

/// Of a model: its initial values, and sums and gradient of eight rows. 16 hexadecimal digits.
std::string probe_of(const model& x);

/// Of a rule: three updates of 103 values with their state. 16 hexadecimal digits.
std::string probe_of(const optimizer& x);

/// Of a metric: its sums and value for eight rows. 16 hexadecimal digits.
std::string probe_of(const metric& x, const metric_input& input);

// Likewise, of what stands behind a value that is added to an enumeration.

std::string probe_of(const own_loss& x);       ///< of 103 scores
std::string probe_of(const own_activation& x); ///< of 103 values
std::string probe_of(const own_schedule& x);   ///< its first 103 steps, of 50 and of 1,000
std::string probe_of(const own_merge& x); ///< of models with 103 values, 3 or as many as it needs
std::string probe_of(const own_result_rule& x); ///< what it says of 1 to 103 results

} // namespace troupe
