// From a text of TOML to values with positions. Its source is the only file that knows the TOML library.

#pragma once

#include "models/keys/toml_value.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace troupe {

/// Why a text is no TOML.
struct toml_problem {
  source_position at;
  std::string why;
  std::string hint;
};

/// A whole document, or the first thing that is wrong with it. Any bytes are safe to pass: text
/// that nests deeper than any job could is refused.
std::variant<toml_value::table, toml_problem> parse_toml(std::string_view text);

/// One value as it stands right of "=", such as `64` or `[1, 2]`; nothing when it is no TOML value.
std::optional<toml_value> parse_toml_value(std::string_view text);

} // namespace troupe
