// A value that remembers the order in which it was added, and a second, independent statement of
// what that order has to be.

#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace troupe::test {

/// Adding a and b gives (a+b): two values are equal when all their additions were.
struct traced {
  std::string text;

  friend traced operator+(const traced& a, const traced& b) {
    return {"(" + a.text + "+" + b.text + ")"};
  }
  friend bool operator==(const traced&, const traced&) = default;
};

/// The sum of the slices [begin, end) in the order of the tree; empty when none of them exists.
inline traced sum_along_tree(size_t begin, size_t end, const std::function<bool(size_t)>& exists) {
  if (end - begin == 1)
    return {exists(begin) ? std::to_string(begin) : ""};
  size_t left = 1;
  while (2 * left < end - begin)
    left *= 2;
  const auto a = sum_along_tree(begin, begin + left, exists);
  const auto b = sum_along_tree(begin + left, end, exists);
  if (a.text.empty() || b.text.empty())
    return {a.text + b.text};
  return a + b;
}

} // namespace troupe::test
