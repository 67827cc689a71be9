// Early pieces: that came before what they belong to was expected here, kept and offered again. A peer may be ahead, and
// pieces may overtake the message that announces them.

#pragma once

#include "actors/base/exchange_port.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace troupe {

/// Maximum bytes; the rest is asked for again. A peer sends little of what nobody answers.
inline constexpr size_t early_bytes_max = size_t{64} << 20;

class early_pieces {
public:
  /// Without room for it the piece is dropped.
  void keep(peer_id from, const tensor_piece& piece) {
    const auto bytes = piece.values.size() * sizeof(float);
    if (bytes_ + bytes > early_bytes_max)
      return;
    pieces_.emplace_back(from, piece);
    bytes_ += bytes;
  }
  /// Something new is expected. Drops the pieces whose name `is_over`, and keeps those that are early still.
  template <class Function>
  void offer(exchange_port& exchange, moment now, const Function& is_over) {
    bytes_ = 0;
    for (const auto& [from, piece] : std::exchange(pieces_, {}))
      if (!is_over(piece.of) && exchange->on_piece(from, piece, now) <= piece_verdict::early)
        keep(from, piece);
  }
  void clear() {
    pieces_.clear();
    bytes_ = 0;
  }

private:
  std::vector<std::pair<peer_id, tensor_piece>> pieces_;
  size_t bytes_ = 0;
};

} // namespace troupe
