// What a call says that it refuses, as a value: so that a test reads as a call and what is expected of it.

#pragma once

#include <stdexcept>
#include <string>

namespace troupe::test {

/// The text of the std::invalid_argument that `action` throws; empty when it throws nothing.
template <class Action>
std::string complaint_of(const Action& action) {
  try {
    action();
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return {};
}

} // namespace troupe::test
