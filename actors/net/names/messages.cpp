#include "actors/net/names/messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(name_introduction, plain(f, "troupe.name_introduction", x.process, x.directory,
                                        x.actors, x.wants_answer))

} // namespace troupe
