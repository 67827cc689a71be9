// A process's offer of carriers: other ways for pieces between two processes than their link. It
// travels with the introduction; the two processes use what both offer.

#pragma once

#include "actors/protocol/fwd.hpp"

#include <cstdint>
#include <string>

namespace troupe {

struct carrier_offer {
  std::string host;       ///< processes with equal names can share memory; empty: with none
  std::string address;    ///< of a socket there, to which the dialling process connects
  bool by_socket = false; ///< a connection of its own, through the gate
  uint64_t token = 0;     ///< of this link, from the dialling process; a connection shows it

  friend bool operator==(const carrier_offer&, const carrier_offer&) = default;
};

TROUPE_INSPECTED(carrier_offer);

} // namespace troupe
