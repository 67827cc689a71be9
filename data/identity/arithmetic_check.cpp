#include "data/identity/arithmetic_check.hpp"

#include "data/text/failure.hpp"
#include "models/base/arithmetic.hpp"

namespace troupe {

void require_arithmetic() {
  if (const auto own = own_arithmetic(); own != arithmetic_name)
    throw failure(failure_code::mismatch, "this machine computes wrong: " + own, {},
                  "build the program anew, and mistrust this processor or what emulates it");
}

} // namespace troupe
