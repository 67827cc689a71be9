#include "troupe/actors/base/begin_arithmetic.hpp"

#include "troupe/data/identity/arithmetic_check.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/models/math/products.hpp"

namespace troupe {

void begin_arithmetic(const runtime_options& wanted) {
  if (const auto set = wanted.instructions) {
    if (!products::has(*set))
      throw failure(failure_code::mismatch,
                    "this machine's processor has no " + std::string{name_of(*set)},
                    "runtime.instructions", "leave it out: the bits are the same with any");
    products::use(*set);
  }
  require_arithmetic();
}

} // namespace troupe
