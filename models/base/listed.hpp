// Names in a sentence.

#pragma once

#include <string>
#include <vector>

namespace troupe {

/// "a, b, c"; empty for none.
inline std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

} // namespace troupe
