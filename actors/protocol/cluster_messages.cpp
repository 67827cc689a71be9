#include "actors/protocol/cluster_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(member, plain(f, "troupe.member", x.name, x.incarnation, x.replica_count,
                             x.shard_count, x.life))

TROUPE_INSPECT(replica_place, f(x.member, x.index, x.slices, x.segments, x.parts))

TROUPE_INSPECT(shard_place, f(x.member, x.index, x.blocks))

TROUPE_INSPECT(span_holder, f(x.member, x.blocks))

TROUPE_INSPECT(held_copy, f(x.version, x.blocks))

TROUPE_INSPECT(held_copies, f(x.term, x.copies))

TROUPE_INSPECT(view_number, f(x.term, x.number))

/// director -> all nodes (coordinators/membership/cluster_view.hpp).
TROUPE_INSPECT(cluster_view,
               plain(f, "troupe.cluster_view", x.id, x.start_version, x.members, x.replicas,
                     x.shards, x.is_careful, x.holders, x.deputies, x.copy_every))

TROUPE_INSPECT(directive, plain(f, "troupe.directive", x.term, x.sequence, x.rule.version,
                                x.rule.final, x.rule.is_cut, x.rule.reductions, x.row_version,
                                x.checkpoint_version, x.round, x.sent))

TROUPE_INSPECT(given_up, plain(f, "troupe.given_up", x.incarnation))
TROUPE_INSPECT(copies_request, plain(f, "troupe.copies_request", x.term, x.last))
TROUPE_INSPECT(hold_request, plain(f, "troupe.hold_request", x.term, x.sequence))

/// node -> director. This process starts no step from `next_step` on until the next directive
/// (coordinators/run/hold_rule.hpp).
TROUPE_INSPECT(hold_answer,
               plain(f, "troupe.hold_answer", x.name, x.view, x.next_step, x.shard_versions))

TROUPE_INSPECT(shard_numbers, plain(f, "troupe.shard_numbers", x.version, x.first_element,
                                    x.numbers, x.keeps_metrics, x.metrics))

TROUPE_INSPECT(awaited, plain(f, "troupe.awaited", x.from, x.what))

TROUPE_INSPECT(work_piece, plain(f, "troupe.work_piece", x.who, x.what, x.busy, x.longest))

TROUPE_INSPECT(work_report, plain(f, "troupe.work_report", x.busy, x.longest, x.late, x.pieces))

TROUPE_INSPECT(link_report, plain(f, "troupe.link_report", x.peer, x.outgoing, x.sent, x.seen,
                                  x.waiting, x.incoming, x.came, x.carrier))

TROUPE_INSPECT(still_gap, plain(f, "troupe.still_gap", x.term, x.version, x.length))

TROUPE_INSPECT(node_report,
               plain(f, "troupe.node_report", x.name, x.incarnation, x.view, x.left, x.held,
                     x.shard_versions, x.replicas, x.round, x.unreachable, x.linked, x.wire,
                     x.waits, x.work, x.replicas_lost, x.figures, x.clock.directive_sent,
                     x.clock.directive_heard, x.clock.told, x.links, x.gaps, x.copies, x.leaves))

TROUPE_INSPECT(shard_copy, plain(f, "troupe.shard_copy", x.version, x.shard, x.parameters, x.slots,
                                 x.numbers, x.is_saved, x.is_kept, x.is_cut))

} // namespace troupe
