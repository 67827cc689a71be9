#include "actors/protocol/coordinator_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(membership, plain(f, "troupe.membership", x.member, x.life, x.sends_gradients,
                                 x.parameter_count))

TROUPE_INSPECT(member_work, plain(f, "troupe.member_work", x.verdict, x.reason, x.ticket, x.version,
                                  x.parameters))

TROUPE_INSPECT(member_update,
               plain(f, "troupe.member_update", x.who, x.ticket, x.values, x.sample_count))

TROUPE_INSPECT(update_report,
               plain(f, "troupe.update_report", x.verdict, x.reason, x.staleness, x.version))

TROUPE_INSPECT(online_batch, plain(f, "troupe.online_batch", x.features, x.labels, x.targets))

TROUPE_INSPECT(online_report, plain(f, "troupe.online_report", x.batch, x.verdict, x.version,
                                    x.batch_loss, x.loss_before, x.loss_after, x.reason))

} // namespace troupe
