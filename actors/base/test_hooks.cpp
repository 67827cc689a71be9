#include "actors/base/test_hooks.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace troupe {

test_hooks with_environment(const std::shared_ptr<test_hooks>& given) {
  auto result = given ? *given : test_hooks{};
  if (const char* row = std::getenv("TROUPE_TEST_CRASHING_ROW")) {
    char* rest = nullptr;
    result.crashing_row = std::strtoull(row, &rest, 10);
    result.crash_throws = std::string_view{rest} == " throws";
  }
  return result;
}

void crash_if_asked(const test_hooks& hooks, std::span<const size_t> rows) {
  if (!hooks.crashing_row || std::ranges::find(rows, *hooks.crashing_row - 1) == rows.end())
    return;
  if (hooks.crash_throws)
    throw std::runtime_error("a row that ends its reader");
  std::_Exit(70);
}

} // namespace troupe
