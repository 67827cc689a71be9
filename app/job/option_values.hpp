// Options of kinds as TOML has them.

#pragma once

#include "troupe/app/toml/toml_value.hpp"
#include "troupe/models/kinds/component.hpp"

#include <optional>

namespace troupe {

/// Nothing for what no option is. A list of tables are layers, and becomes their text
/// (models/kinds/layer_text.hpp): each has a `kind`, its options, and `layers` for what it holds.
std::optional<option_value> option_value_of(const toml_value& x);

} // namespace troupe
