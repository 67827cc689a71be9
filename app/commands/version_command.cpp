#include "app/commands/commands.hpp"
#include "app/terminal/output.hpp"
#include "models/base/arithmetic.hpp"
#include "models/math/products.hpp"
#include "troupe/version.hpp"

#include <caf/config.hpp>
#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

std::string caf_version() {
  return std::to_string(CAF_MAJOR_VERSION) + "." + std::to_string(CAF_MINOR_VERSION) + "." +
         std::to_string(CAF_PATCH_VERSION);
}

std::vector<std::string_view> instruction_names() {
  std::vector<std::string_view> result;
  for (const auto set : products::instructions_here())
    result.push_back(name_of(set));
  return result;
}

std::string instruction_words() {
  const auto names = instruction_names();
  std::string others;
  for (const auto name : std::span{names}.subspan(1))
    others += (others.empty() ? " (also " : ", ") + std::string{name};
  return std::string{names.front()} + others + (others.empty() ? "" : ")");
}

} // namespace

int version_command(bool json) {
  if (json) {
    const nlohmann::ordered_json object{{"troupe", TROUPE_VERSION},
                                        {"arithmetic", own_arithmetic()},
                                        {"instructions", instruction_names()},
                                        {"caf", caf_version()}};
    print_result(object.dump() + "\n");
  } else {
    print_result("troupe " TROUPE_VERSION "\narithmetic      " + own_arithmetic() +
                 "\ninstructions    " + instruction_words() + "\nCAF             " + caf_version() +
                 "\n");
  }
  return 0;
}

} // namespace troupe
