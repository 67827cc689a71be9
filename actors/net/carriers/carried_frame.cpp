#include "actors/net/carriers/carried_frame.hpp"

#include "data/text/checksum.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace troupe {

// A machine with another byte order needs a swap here, in both directions.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr uint64_t magic = 0x7472'6f75'7065 << 16; // "troupe", above what and kind
constexpr uint64_t magic_mask = ~uint64_t{0xffff};
constexpr unsigned byte_bits = 8;
constexpr unsigned half_bits = 32;
constexpr uint64_t byte_mask = 0xff;

enum word : size_t {
  at_kind,
  at_term,
  at_key,
  at_node,
  at_part = 5,
  at_first,
  at_count,
  at_facts,
  at_remarks = 12,
  at_link = 14,
  at_position,
  at_place,
  at_checksum,
  at_end
};

uint64_t checksum_of_head(const frame_head& head) {
  return short_checksum_of(std::as_bytes(std::span{head}.first(at_end)));
}

} // namespace

frame_head write_frame(const carried_frame& x) {
  frame_head head{};
  const auto& of = x.piece.of;
  head[at_kind] =
    magic | static_cast<uint64_t>(x.kind) << byte_bits | static_cast<uint64_t>(of.kind);
  head[at_term] = of.term;
  head[at_key] = of.key;
  head[at_node] = of.node.begin;
  head[at_node + 1] = of.node.end;
  head[at_part] = of.part;
  head[at_first] = x.piece.first_element;
  head[at_count] = x.count;
  copy_values(x.piece.note.facts, head.begin() + at_facts);
  copy_values(x.piece.note.remarks, head.begin() + at_remarks);
  head[at_link] = x.piece.stamp.link;
  head[at_position] = x.piece.stamp.bytes;
  head[at_place] = uint64_t{x.place.turn} << half_bits | x.place.slot;
  head[at_checksum] = x.checksum;
  head[at_end] = checksum_of_head(head);
  return head;
}

std::optional<carried_frame> read_frame(const frame_head& head) {
  const auto kind = head[at_kind] >> byte_bits & byte_mask;
  const auto tensor = head[at_kind] & byte_mask;
  if (head[at_end] != checksum_of_head(head) || (head[at_kind] & magic_mask) != magic ||
      kind > static_cast<uint64_t>(frame_kind::credit) || tensor >= tensor_kind_count ||
      head[at_count] > piece_elements_max ||
      (head[at_count] == 0) != (kind >= static_cast<uint64_t>(frame_kind::stamp)))
    return std::nullopt;
  carried_frame x;
  x.kind = static_cast<frame_kind>(kind);
  x.piece.of = {static_cast<tensor_kind>(tensor),
                head[at_term],
                head[at_key],
                {head[at_node], head[at_node + 1]},
                head[at_part]};
  x.piece.first_element = head[at_first];
  x.count = head[at_count];
  std::copy_n(head.begin() + at_facts, x.piece.note.facts.size(), x.piece.note.facts.begin());
  std::copy_n(head.begin() + at_remarks, x.piece.note.remarks.size(), x.piece.note.remarks.begin());
  x.piece.stamp = {head[at_link], head[at_position]};
  x.place = {static_cast<uint32_t>(head[at_place]),
             static_cast<uint32_t>(head[at_place] >> half_bits)};
  x.checksum = head[at_checksum];
  return x;
}

} // namespace troupe
