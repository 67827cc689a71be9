#include "troupe/app/commands/commands.hpp"
#include "troupe/app/terminal/output.hpp"
#include "troupe/models/base/numerics.hpp"
#include "troupe/models/math/blas.hpp"
#include "troupe/version.hpp"

#include <caf/config.hpp>
#include <nlohmann/json.hpp>

namespace troupe {

namespace {

std::string caf_version() {
  return std::to_string(CAF_MAJOR_VERSION) + "." + std::to_string(CAF_MINOR_VERSION) + "." +
         std::to_string(CAF_PATCH_VERSION);
}

} // namespace

int version_command(bool json) {
  if (json) {
    const nlohmann::ordered_json object{{"troupe", TROUPE_VERSION},
                                        {"numerics", numerics_class()},
                                        {"caf", caf_version()},
                                        {"blas_core", blas::core_name()}};
    print_result(object.dump() + "\n");
  } else {
    print_result("troupe " TROUPE_VERSION "\nnumerics class  " + numerics_class() +
                 "\nOpenBLAS core   " + blas::core_name() + "\nCAF             " + caf_version() +
                 "\n");
  }
  return 0;
}

} // namespace troupe
