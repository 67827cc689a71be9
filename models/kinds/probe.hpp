// Probes: a hash of the bits that a kind of an application gives for small made inputs.
//
// Processes that train together compare them: two with different code under one name and version, or with
// the same code compiled differently, learn that before they train, not by a gradient that differs. A probe
// finds a forgotten change of version; it does not replace the version, and is no part of identities.

#pragma once

#include "models/kinds/metric_kinds.hpp"
#include "models/network/model.hpp"
#include "models/optimizers/optimizer.hpp"

#include <string>

namespace troupe {

/// Of a model: its initial values, and sums and gradient of eight rows. 16 hexadecimal digits.
std::string probe_of(const model& x);

/// Of a rule: three updates of 103 values with their state. 16 hexadecimal digits.
std::string probe_of(const optimizer& x);

/// Of a metric: its sums and value for eight rows. 16 hexadecimal digits.
std::string probe_of(const metric& x, const metric_input& input);

} // namespace troupe
