// A carrier's offer: how pieces may go between two processes beside the link that they have. It
// travels with the introduction; what both offer is used.

#pragma once

#include "actors/protocol/fwd.hpp"

#include <cstdint>
#include <string>

namespace troupe {

struct carrier_offer {
  std::string host;       ///< who says the same can have memory in common; empty: nobody
  std::string address;    ///< of a socket of that host, on which whoever dialled the link is met
  bool by_socket = false; ///< a connection of its own, through the gate
  uint64_t token = 0;     ///< of this link, by whoever dialled it: who shows it belongs to the link

  friend bool operator==(const carrier_offer&, const carrier_offer&) = default;
};

TROUPE_INSPECTED(carrier_offer);

} // namespace troupe
