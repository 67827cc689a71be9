// Piece stream: one carrier's connection to another process. Pieces arrive in order, or the stream is over. It never
// blocks; one thread at a time uses it.
//
// Values are written to the socket from their buffer, which the piece holds meanwhile. Where both processes have shared
// slots and one is free, values go through the slot and are read in place. The slot is free again when the last reader
// releases it.

#pragma once

#include "actors/base/piece_carrier.hpp"
#include "actors/net/carriers/carried_frame.hpp"
#include "actors/net/carriers/shared_slots.hpp"
#include "actors/net/socket/channel.hpp"
#include "coordinators/exchange/exchange_messages.hpp"
#include "coordinators/exchange/link_limits.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

class piece_stream {
public:
  /// An open connection. `slots`: null unless both sides have them.
  explicit piece_stream(channel connection, std::shared_ptr<shared_slots> slots = {});

  int descriptor() const { return connection_.descriptor(); }
  bool has_slots() const { return slots_ != nullptr; }

  /// Queues a piece. False: it has no values or too many for a frame.
  bool put(const tensor_piece& piece);
  void put(position_word word, const link_position& what);

  /// Sends what the socket takes. False: the stream is over.
  bool flush();
  /// True if bytes wait until the socket is writable.
  bool is_waiting() const { return !outgoing_.empty(); }

  /// Calls `take` with each frame that has come: no more than the sender has credit for. False: the stream is over.
  bool receive(const std::function<void(carried_frame&&)>& take);

private:
  struct outgoing {
    frame_head head;
    float_view values;                ///< to be written behind the head; may be empty
    std::vector<uint16_t> narrowed{}; ///< or these instead
    size_t written = 0;

    std::span<const std::byte> behind() const {
      return narrowed.empty() ? std::as_bytes(values.values()) : std::as_bytes(std::span{narrowed});
    }
    size_t size() const { return sizeof(head) + behind().size(); }
  };
  struct incoming {
    carried_frame what;
    buffer storage{};
    size_t read = 0; ///< bytes of the values

    std::span<float> values() const { return storage.values().first(what.count); }
    std::span<std::byte> missing() const {
      return arriving_bytes(what.format(), values()).subspan(read);
    }
  };

  /// Bytes written; below 0: nothing now (is_only_later), or never again.
  ptrdiff_t write_some();
  ptrdiff_t read_into(std::span<std::byte> values, std::span<std::byte> behind);
  bool read_some();
  bool begin_frame(const std::function<void(carried_frame&&)>& take);
  void take_values(const std::function<void(carried_frame&&)>& take);

  channel connection_;
  std::shared_ptr<shared_slots> slots_;
  std::deque<outgoing> outgoing_;
  std::optional<incoming> incoming_;                     ///< a piece whose values are coming
  std::array<std::byte, 32 * frame_head_bytes> ahead_{}; ///< read, and not parsed yet
  size_t ahead_begin_ = 0;
  size_t ahead_end_ = 0;
  std::vector<char> sealed_; ///< of a secured connection: what is written at once
};

} // namespace troupe
