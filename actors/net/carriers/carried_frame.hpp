// Carried frame: a message on a carrier's stream. It is a head of fixed size; the values of a piece follow unless they
// are in shared memory.
//
//   words of 64 bits, little-endian          0 what, kind, magic   1 term      2 key     3-4 node
//   5 part   6 first element   7 count   8-11 facts   12-13 remarks   14 link   15 position
//   16 slot and its turn       17 checksum of the values   18 checksum of words 0-17
//
// A damaged head ends its stream, because the next frame cannot be found. The exchange refuses damaged values, as of
// any piece.

#pragma once

#include "coordinators/exchange/exchange_messages.hpp"
#include "coordinators/exchange/link_limits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace troupe {

inline constexpr size_t frame_words = 19;
using frame_head = std::array<uint64_t, frame_words>;
inline constexpr size_t frame_head_bytes = sizeof(frame_head);

/// A slot in shared memory, and the number of its use.
struct slot_place {
  uint32_t slot = 0;
  uint32_t turn = 0; ///< from 1

  friend bool operator==(const slot_place&, const slot_place&) = default;
};

enum class frame_kind : uint8_t {
  piece,  ///< its values follow
  narrow, ///< likewise, of the format bf16: half the bytes
  slot,   ///< a piece whose values are in shared memory
  stamp,  ///< asks what has come of a link; only the position counts
  credit, ///< the answer; only the position counts
};

struct carried_frame {
  frame_kind kind = frame_kind::piece;
  tensor_piece piece{}; ///< without values
  uint64_t count = 0;   ///< of values; none beside pieces
  slot_place place{};
  uint64_t checksum = 0; ///< of the values

  bool is_piece() const { return kind <= frame_kind::slot; }
  /// The format of the values that follow.
  number_format format() const {
    return kind == frame_kind::narrow ? number_format::bf16 : number_format::float32;
  }
  friend bool operator==(const carried_frame&, const carried_frame&) = default;
};

frame_head write_frame(const carried_frame& x);

/// Nothing when it is no head, or no possible frame: of an unknown kind, a piece without values or with too many,
/// another frame with values.
std::optional<carried_frame> read_frame(const frame_head& head);

} // namespace troupe
