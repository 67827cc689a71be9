// Activations that an application adds: the table of their kinds.

#pragma once

#include "models/kinds/added_kinds.hpp"
#include "models/network/activation.hpp"

namespace troupe {

using activation_table = added_kinds<activation_kind, own_activation>;

/// The process's; also of threads that come and go.
activation_table& activations();

} // namespace troupe
