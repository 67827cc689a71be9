// Piece stream: one carrier's connection to another process. Pieces go in at one end and come out at
// the other, in order, or the stream is over. Never blocks; all of one stream is on one thread.
//
// Values are written from where they lie (a piece under way holds its buffer), or go through shared
// slots where both processes have them and one is free: then they are read where they are, and their
// slot is free again when the last who looks at them lets go.

#pragma once

#include "actors/base/piece_carrier.hpp"
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

// Carried frame: what travels on a carrier's stream. A head of fixed size, then for a piece whose
// values are not in shared memory the values themselves.
//
//   words of 64 bits, little-endian          0 what, kind, magic   1 term      2 key     3-4 node
//   5 part   6 first element   7 count   8-11 facts   12-13 remarks   14 link   15 position
//   16 slot and its turn       17 checksum of the values   18 checksum of words 0-17
//
// A head that is not whole is the end of its stream: nothing behind it can be found. Values that are
// damaged are the exchange's to refuse, as of any piece.

inline constexpr size_t frame_words = 19;
using frame_head = std::array<uint64_t, frame_words>;
inline constexpr size_t frame_head_bytes = sizeof(frame_head);

/// A place in shared memory, and which use of it this is.
struct slot_place {
  uint32_t slot = 0;
  uint32_t turn = 0; ///< from 1

  friend bool operator==(const slot_place&, const slot_place&) = default;
};

enum class frame_kind : uint8_t {
  piece,  ///< its values follow
  narrow, ///< likewise, of the format bf16: half the bytes
  slot,   ///< a piece whose values are in shared memory
  stamp,  ///< the question what has come of a link; nothing but its position counts
  credit, ///< the answer; likewise
};

struct carried_frame {
  frame_kind kind = frame_kind::piece;
  tensor_piece piece{}; ///< without values
  uint64_t count = 0;   ///< of values; none beside pieces
  slot_place place{};
  uint64_t checksum = 0; ///< of the values

  bool is_piece() const { return kind <= frame_kind::slot; }
  /// Of the values that follow.
  number_format format() const {
    return kind == frame_kind::narrow ? number_format::bf16 : number_format::float32;
  }
  friend bool operator==(const carried_frame&, const carried_frame&) = default;
};

frame_head write_frame(const carried_frame& x);

/// Nothing when it is no head, or says what no frame can: a kind there is not, a piece without values
/// or with too many, others with some.
std::optional<carried_frame> read_frame(const frame_head& head);

// Shared slots: values of pieces in memory that two processes of one machine have in common. Each
// side makes one memory, which only it writes: its slots hold what it sends, and its table says which
// slots of the *other* side it has done with. So each maps the other's memory for reading alone, and
// nothing is taken back by message.
//
//   memory of a (a writes, b reads)    [ turns of b's slots that a has done with | slots of a ]
//   memory of b (b writes, a reads)    [ turns of a's slots that b has done with | slots of b ]
//
// The memory has no name (memfd), cannot shrink or grow, and is gone with the processes. It takes
// pages as slots are used, lowest first: a quiet link has few.

/// What may be under way, and as much again as a reader takes in meanwhile.
inline constexpr size_t slot_count = link_credit_bytes / sizeof(float) / piece_elements_max + 16;

/// The mapped memory of one side.
class slot_memory {
public:
  slot_memory() = default;
  slot_memory(slot_memory&& other) noexcept;
  slot_memory& operator=(slot_memory&& other) noexcept;
  ~slot_memory();

  /// New memory for what this process writes, and its descriptor for the other; empty when the
  /// system gives none.
  static slot_memory make(owned_socket& descriptor);
  /// Another process's, to be read; empty unless it is one that cannot shrink.
  static slot_memory map(const owned_socket& descriptor);

  explicit operator bool() const { return bytes_ != nullptr; }
  std::atomic<uint32_t>& turn_done(size_t slot) const;
  float* values_of(size_t slot) const;

private:
  explicit slot_memory(std::byte* bytes) : bytes_(bytes) {}
  std::byte* bytes_ = nullptr;
};

/// One side's use of both memories. Only `done` may be called from any thread.
class shared_slots {
public:
  shared_slots() = default;
  shared_slots(slot_memory mine, slot_memory theirs);

  explicit operator bool() const { return mine_ && theirs_; }

  /// Copies values to a free slot; nothing when there is none.
  std::optional<slot_place> put(std::span<const float> values);
  /// The other side's; empty when there is no such slot.
  std::span<const float> look(const slot_place& place, size_t count) const;
  /// The other side may use it again.
  void done(const slot_place& place);

private:
  slot_memory mine_;
  slot_memory theirs_;
  std::array<uint32_t, slot_count> turns_{}; ///< of my slots
};

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
