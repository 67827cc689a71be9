// Words that people bring along from other programs, and what they are called here. Letters that
// happen to be alike are a worse guide: "alpha" is not a misspelt "rho".

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

struct other_name {
  std::string_view word; ///< the last part of a path, lower case, with '_'
  std::string_view key;  ///< what it is called here; empty: nothing is, see `hint`
  std::string_view hint{};
};

/// What the word of another program means here; nothing when nobody knows it.
std::optional<other_name> other_name_of(std::string_view word);

} // namespace troupe
