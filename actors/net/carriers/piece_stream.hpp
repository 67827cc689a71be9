// Piece stream: one carrier's connection to another process. Pieces go in at one end and come out at
// the other, in order, or the stream is over. Never blocks; all of one stream is on one thread.
//
// Values are written from where they lie (a piece under way holds its buffer), or go through shared
// slots where both processes have them and one is free: then they are read where they are, and their
// slot is free again when the last who looks at them lets go.

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

  /// Puts it behind all that was put before. False: no frame is for it, it has no
  /// values or too many.
  bool put(const tensor_piece& piece);
  void put(position_word word, const link_position& what);

  /// Sends what the socket takes. False: the stream is over.
  bool flush();
  /// Something waits until the socket is writable.
  bool is_waiting() const { return !outgoing_.empty(); }

  /// Gives what has come: no more than the sender has credit for. False: the stream is over.
  bool receive(const std::function<void(carried_frame&&)>& take);

private:
  struct outgoing {
    frame_head head;
    float_view values;                ///< to be written behind the head; may be empty
    std::vector<uint16_t> narrowed{}; ///< or these, in their place
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

  /// Below 0: nothing now (is_only_later), or never again.
  ptrdiff_t write_some();
  ptrdiff_t read_into(std::span<std::byte> values, std::span<std::byte> behind);
  bool read_some();
  bool begin_frame(const std::function<void(carried_frame&&)>& take);
  void take_values(const std::function<void(carried_frame&&)>& take);

  channel connection_;
  std::shared_ptr<shared_slots> slots_;
  std::deque<outgoing> outgoing_;
  std::optional<incoming> incoming_;                     ///< a piece whose values are coming
  std::array<std::byte, 32 * frame_head_bytes> ahead_{}; ///< read, and not looked at yet
  size_t ahead_begin_ = 0;
  size_t ahead_end_ = 0;
  std::vector<char> sealed_; ///< of a secured connection: what is written at once
};

} // namespace troupe
