// Received values: memory for what comes over a wire, and the checksum it comes with.

#pragma once

#include "troupe/models/base/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Room for this many values. What has just been received is soon let go of again, so buffers of a
/// piece's size are used again.
buffer receive_buffer(size_t size);

/// Of values on any wire, as both ends compute it.
uint64_t checksum_of_values(std::span<const float> values);

} // namespace troupe
