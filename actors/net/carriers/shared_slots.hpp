// Shared slots: values of pieces in memory that two processes of one machine share. Each side makes one memory, which
// only it writes. Its slots hold the values it sends; its table shows which slots of the *other* side it has finished
// reading. So each side maps the other's memory read-only, and needs no message to free a slot.
//
//   memory of a (a writes, b reads)    [ turns of b's slots that a has done with | slots of a ]
//   memory of b (b writes, a reads)    [ turns of a's slots that b has done with | slots of b ]
//
// The memory has no name (memfd), cannot shrink or grow, and is gone with the processes. It takes
// pages as slots are used, lowest first: a quiet link has few.

#pragma once

#include "actors/net/carriers/carried_frame.hpp"
#include "actors/net/socket/channel.hpp"
#include "coordinators/exchange/link_limits.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace troupe {

/// Slots for all pieces in transit, and some more for pieces that the reader still uses.
inline constexpr size_t slot_count = link_credit_bytes / sizeof(float) / piece_elements_max + 16;

/// The mapped memory of one side.
class slot_memory {
public:
  slot_memory() = default;
  slot_memory(slot_memory&& other) noexcept;
  slot_memory& operator=(slot_memory&& other) noexcept;
  ~slot_memory();

  /// New memory for this process's values, and a descriptor of it for the other process; empty when the system gives
  /// none.
  static slot_memory make(owned_socket& descriptor);
  /// Maps another process's memory for reading; empty if that memory can shrink.
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
  /// The values in a slot of the other side; empty when there is no such slot.
  std::span<const float> look(const slot_place& place, size_t count) const;
  /// Frees a slot of the other side.
  void done(const slot_place& place);

private:
  slot_memory mine_;
  slot_memory theirs_;
  std::array<uint32_t, slot_count> turns_{}; ///< of my slots
};

} // namespace troupe
