#include "actors/protocol/tensor_messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(speaker, f(x.process, x.is_director))

TROUPE_INSPECT(link_position, f(x.link, x.bytes))

TROUPE_INSPECT(tensor_note, f(x.facts, x.remarks))

TROUPE_INSPECT(tensor_name, inspect_fields(f, x.kind, x.term, x.key, x.node, x.part))

TROUPE_INSPECTED(sent_piece) {
  auto& piece = x.what;
  payload values{piece.values};
  return plain(f, "troupe.sent_piece", x.by, piece.of, piece.first_element, piece.note, piece.stamp,
               values, when_loaded([&] { piece.values = values; }));
}
TROUPE_INSTANTIATE_INSPECT(sent_piece)

TROUPE_INSPECT(sent_want, plain(f, "troupe.sent_want", x.by, x.what.of, x.what.elements,
                                x.what.or_newer, x.what.have_come, x.what.seen))

TROUPE_INSPECT(sent_credit, plain(f, "troupe.sent_credit", x.by, x.what))

TROUPE_INSPECT(sent_stamp, plain(f, "troupe.sent_stamp", x.by, x.what))

} // namespace troupe
