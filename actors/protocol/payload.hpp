// A span of float32 values inside a message: in one process a pointer to shared memory, on a wire
// raw little-endian bytes with their length and a checksum.

#pragma once

#include "troupe/models/base/buffer.hpp"

#include <caf/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace troupe {

/// Values a payload may hold on a wire: 1 GiB. In one process there is no limit.
inline constexpr size_t payload_size_max = size_t{1} << 28;

class payload {
public:
  payload() = default;

  /// The values [offset, offset + size) of `storage`; throws std::invalid_argument outside it.
  payload(const_buffer storage, size_t offset, size_t size);

  std::span<const float> values() const { return storage_.values().subspan(offset_, size_); }

  /// The memory behind: the same for all spans of one version in one process.
  const const_buffer& storage() const { return storage_; }
  size_t offset() const { return offset_; }

  /// False when the values came over a wire and do not have the checksum they were sent with.
  bool intact() const;

  /// Of the values: as received, or as they are here. They are looked at once.
  uint64_t checksum() const;

  /// Bit for bit.
  friend bool operator==(const payload& a, const payload& b);

  friend caf::error inspect(caf::serializer& sink, payload& x);
  friend caf::error inspect(caf::deserializer& source, payload& x);

private:
  const_buffer storage_;
  size_t offset_ = 0;
  size_t size_ = 0;
  bool from_wire_ = false;
  mutable std::optional<uint64_t> checksum_; ///< as received, or once it was asked for
};

} // namespace troupe
