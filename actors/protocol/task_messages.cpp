#include "actors/protocol/task_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(task_header,
               plain(f, "troupe.task_header", x.term, x.number, x.replica, x.evaluates, x.task,
                     x.kind, x.trainer, x.member, x.first_step, x.step_count, x.chunks, x.model,
                     x.vector_count, x.open, x.last, x.attempt, x.is_dropped))

TROUPE_INSPECT(sequence_entry,
               inspect_fields(f, x.kind, x.position, x.number, x.step, x.place, x.sample_count,
                              x.update_count, x.step_scale, x.round, x.attempt, x.is_void,
                              x.is_late, x.evaluates, x.is_row, x.is_saved, x.version, x.worker))

TROUPE_INSPECT(sequence_news, plain(f, "troupe.sequence_news", x.term, x.entries))

TROUPE_INSPECT(span_progress,
               plain(f, "troupe.span_progress", x.term, x.shard, x.position, x.whole))

TROUPE_INSPECT(client_figure, inspect_fields(f, x.loss, x.norm, x.verdict))

TROUPE_INSPECT(result_header, plain(f, "troupe.result_header", x.term, x.number, x.sums, x.finite,
                                    x.computed_ns, x.vector_count, x.is_lost, x.clients))

} // namespace troupe
