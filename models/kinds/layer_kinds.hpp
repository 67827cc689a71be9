// Layers of a chain: the table of their kinds. Those of the library stand in it as those that an
// application adds do, before the first job is read.

#pragma once

#include "troupe/models/kinds/kind_table.hpp"
#include "troupe/models/layers/layer_options.hpp"

namespace troupe {

using layer_table = kind_table<layer, layer_input>;

/// The process's; also of threads that come and go.
layer_table& layers();

} // namespace troupe
