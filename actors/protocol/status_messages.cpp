#include "actors/protocol/status_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(node_status,
               plain(f, "troupe.node_status", x.name, x.is_director, x.is_linked, x.takes_part,
                     x.replicas, x.shards, x.slices, x.spans, x.version, x.shard_versions, x.waits,
                     x.silence, x.samples, x.wire, x.partitions, x.pieces, x.late, x.trouble))

TROUPE_INSPECT(client_presence,
               plain(f, "troupe.client_presence", x.here, x.wanted, x.invited, x.answered,
                     x.counted, x.refused, x.came_bytes, x.sent_bytes, x.gathers))

TROUPE_INSPECT(late_process, plain(f, "troupe.late_process", x.name, x.what, x.silence, x.busy))

TROUPE_INSPECT(link_figures, plain(f, "troupe.link_figures", x.from, x.to, x.sent, x.came, x.unseen,
                                   x.waiting, x.bytes_per_second, x.still, x.carrier))

TROUPE_INSPECT(slow_trainer, plain(f, "troupe.slow_trainer", x.who, x.steps, x.last, x.waited_share,
                                   x.late_ms, x.computing_ratio))

TROUPE_INSPECT(training_status,
               plain(f, "troupe.training_status", x.phase, x.version, x.last_version, x.epoch,
                     x.epochs, x.seconds, x.steps_per_second, x.samples_per_second, x.replicas,
                     x.shards, x.waits_for, x.still, x.job_sha256, x.view,
                     static_cast<recovery_figures&>(x), x.late, x.nodes, x.figures, x.train_loss,
                     x.train_accuracy, x.learning_rate, x.seconds_left, x.newest_row, x.links,
                     x.slow, x.writes_for, x.stranger, x.clients))

} // namespace troupe
