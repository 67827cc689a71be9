// Limits of a link: how much may be under way on it, and what goes first.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// What may be under way on a link: 16 MiB, a tenth of a second at 1.3 Gbit/s. That is more than
/// any link of a data centre holds between two credits. Doubled, a sender may keep twice as much
/// memory for each link, and a sign of life waits twice as long behind it.
inline constexpr size_t link_credit_bytes = size_t{16} << 20;

/// The same on all links of a process together: 256 MiB, so that of more than 17 processes each link has less.
inline constexpr size_t process_credit_bytes = size_t{256} << 20;
/// But four pieces at least: with fewer a link stands still between two credits.
inline constexpr size_t link_credit_bytes_min = size_t{1} << 20;

/// What may be under way on each link of a cluster of so many processes.
constexpr size_t link_credit_of(size_t process_count) {
  const size_t neighbours = process_count > 2 ? process_count - 1 : 1;
  return std::clamp(process_credit_bytes / neighbours, link_credit_bytes_min, link_credit_bytes);
}

/// Elements of a piece on a wire: 256 KiB, small enough that a link's heartbeat is never stuck
/// behind one for long, large enough that its frame costs nothing.
inline constexpr size_t piece_elements_max = size_t{1} << 16;

/// The part of the window that checkpoints may fill: training waits behind 4 MiB at most.
inline constexpr size_t checkpoint_window_parts = 4;

/// The part of the window after which a receiver returns credit: 1 MiB, four pieces. It must be
/// well below the part above, or a sender of checkpoints stands still until it asks.
inline constexpr size_t credit_return_parts = 16;

/// Pieces after which it does so, however small they are: their sender looks through those under way for each
/// that it adds.
inline constexpr size_t credit_return_pieces = 64;

/// What goes first: all replicas of a group wait for a boundary, the next step waits for the last
/// training piece, nothing waits for a checkpoint.
enum class urgency : uint8_t { boundary, training, checkpoint };

} // namespace troupe
