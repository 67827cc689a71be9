#include "actors/net/links/messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(introduction, plain(f, "troupe.introduction", x.who, x.node, x.director, x.links,
                                   x.wants_answer, x.carrier))

TROUPE_INSPECT(farewell, plain(f, "troupe.farewell", x.code, x.reason))

} // namespace troupe
