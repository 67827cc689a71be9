// What a call fails with, as a value: so that a test reads as a call and what is expected of its failure.

#pragma once

#include "data/text/failure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace troupe::test {

/// What `action` fails with. Without a failure: one of no reader's, whose reason is `otherwise`.
template <class Action>
failure failure_of(const Action& action, const std::string& otherwise) {
  try {
    action();
  } catch (const failure& problem) {
    return problem;
  }
  return {failure_code::diverged, otherwise};
}

/// The same of an action that has to fail: the test fails when it does not.
template <class Action>
failure failure_of(const Action& action) {
  const std::string none = "nothing failed";
  auto result = failure_of(action, none);
  EXPECT_NE(result.reason(), none);
  return result;
}

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
