#include "actors/protocol/coordinator_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(child_model,
               plain(f, "troupe.child_model", x.child, x.number, x.values, x.sample_count))

TROUPE_INSPECT(merge_report, plain(f, "troupe.merge_report", x.child, x.number, x.verdict, x.reason,
                                   x.round, x.merged))

TROUPE_INSPECT(gradient_work, plain(f, "troupe.gradient_work", x.verdict, x.reason, x.ticket,
                                    x.version, x.parameters))

TROUPE_INSPECT(gradient_offer, plain(f, "troupe.gradient_offer", x.trainer, x.ticket,
                                     x.gradient_sum, x.sample_count))

TROUPE_INSPECT(gradient_report,
               plain(f, "troupe.gradient_report", x.verdict, x.reason, x.staleness, x.version))

TROUPE_INSPECT(online_batch, plain(f, "troupe.online_batch", x.features, x.labels, x.targets))

TROUPE_INSPECT(online_report, plain(f, "troupe.online_report", x.batch, x.verdict, x.version,
                                    x.batch_loss, x.loss_before, x.loss_after, x.reason))

} // namespace troupe
