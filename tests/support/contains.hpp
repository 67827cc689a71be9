// Whether a text has a part, as a check that shows both when it fails.

#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace troupe::test {

inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  const bool found = text.find(part) != text.npos;
  return testing::AssertionResult(found)
         << "'" << part << "' is " << (found ? "" : "not ") << "in: " << text;
}

} // namespace troupe::test
