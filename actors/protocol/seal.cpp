#include "actors/protocol/seal.hpp"

#include <caf/sec.hpp>

namespace troupe {

caf::error compare_seals(uint64_t received, uint64_t computed) {
  if (received == computed)
    return caf::none;
  return caf::make_error(caf::sec::invalid_argument, "a message came damaged");
}

} // namespace troupe
