#include "actors/protocol/order_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(order_header,
               plain(f, "troupe.order_header", x.term, x.number, x.replica, x.evaluates, x.task,
                     x.trainer, x.member, x.first_step, x.step_count, x.chunks, x.model,
                     x.vector_count, x.open, x.last, x.attempt))

TROUPE_INSPECT(client_figure, inspect_fields(f, x.loss, x.norm, x.verdict))

TROUPE_INSPECT(result_header, plain(f, "troupe.result_header", x.term, x.number, x.sums, x.finite,
                                    x.computed_ns, x.vector_count, x.is_lost, x.clients))

} // namespace troupe
