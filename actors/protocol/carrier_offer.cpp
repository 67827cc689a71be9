#include "actors/protocol/carrier_offer.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(carrier_offer,
               plain(f, "troupe.carrier_offer", x.host, x.address, x.by_socket, x.token))

} // namespace troupe
