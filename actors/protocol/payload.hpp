// Payload: a float_view inside a message. In one process it is a pointer to shared memory, on a
// wire raw little-endian bytes with their number, format and a checksum of the values.

#pragma once

#include "troupe/models/base/float_view.hpp"

#include <caf/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

/// Values a payload may hold on a wire: 1 GiB. In one process there is no limit.
inline constexpr size_t payload_size_max = size_t{1} << 28;

class payload : public float_view {
public:
  using float_view::float_view;
  payload(float_view values) : float_view(std::move(values)) {}

  /// Of the values: as received, or as they are here. They are looked at once.
  uint64_t checksum() const;

  friend caf::error inspect(caf::serializer& sink, payload& x);
  friend caf::error inspect(caf::deserializer& source, payload& x);

private:
  mutable std::optional<uint64_t> checksum_; ///< as received, or once it was asked for
};

} // namespace troupe
