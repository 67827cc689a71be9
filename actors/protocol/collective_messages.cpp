#include "actors/protocol/collective_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(collective_group, plain(f, "troupe.collective_group", x.members))

TROUPE_INSPECT(collective_introduction,
               plain(f, "troupe.collective_introduction", x.process, x.meeting, x.members,
                     x.wants_answer, x.knows_all, x.carrier))

TROUPE_INSPECTED(collective_part) {
  payload values{x.values};
  return plain(f, "troupe.collective_part", x.round, x.from, x.kind, x.root, x.stage, x.count,
               values, x.first, x.rest, when_loaded([&] { x.values = values; }));
}
TROUPE_INSTANTIATE_INSPECT(collective_part)

TROUPE_INSPECT(collective_grant,
               plain(f, "troupe.collective_grant", x.round, x.from, x.stage, x.until))

TROUPE_INSPECT(collective_failure, plain(f, "troupe.collective_failure", x.round, x.from, x.why))

} // namespace troupe
