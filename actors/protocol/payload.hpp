// Payload: a float_view inside a message. Within a process it is a pointer to shared memory. On a
// wire it is raw little-endian bytes with their number, format and a checksum of the values.

#pragma once

#include "models/base/buffer.hpp"

#include <caf/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

/// Maximum values of a payload on a wire: 1 GiB. Within a process there is no limit.
inline constexpr size_t payload_size_max = size_t{1} << 28;

class payload : public float_view {
public:
  using float_view::float_view;
  payload(float_view values) : float_view(std::move(values)) {}

  /// Checksum of the values: as received, or computed here on the first call.
  uint64_t checksum() const;

  friend caf::error inspect(caf::serializer& sink, payload& x);
  friend caf::error inspect(caf::deserializer& source, payload& x);

private:
  mutable std::optional<uint64_t> checksum_; ///< as received, or once it was asked for
};

// ---- Received values: memory for what comes over a wire, and the checksum it comes with ----

/// Room for this many values. Received values are soon released, so buffers of a piece's size are
/// reused.
buffer receive_buffer(size_t size);

/// The checksum of values on any wire, as both ends compute it.
uint64_t checksum_of_values(std::span<const float> values);

} // namespace troupe
