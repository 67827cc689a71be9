#include "data/text/failure.hpp"

#include <utility>

namespace troupe {

namespace {

// what() as the command prints it: "where: reason; hint".
std::string whole_text(const std::string& reason, const std::string& where,
                       const std::string& hint) {
  std::string result;
  if (!where.empty())
    result += where + ": ";
  result += reason;
  if (!hint.empty())
    result += "; " + hint;
  return result;
}

} // namespace

failure::failure(failure_code code, std::string what, std::string where, std::string hint)
  : std::runtime_error(whole_text(what, where, hint)),
    code_(code),
    reason_(std::move(what)),
    where_(std::move(where)),
    hint_(std::move(hint)) {}

} // namespace troupe
