// Checksums that find damage: XXH3 with 128 bits, which reads as fast as memory. They are no proof
// against malice; data/digest.hpp is.

#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace troupe {

/// 16 bytes as they stand in files: the same on every machine.
using checksum_bytes = std::array<std::byte, 16>;

/// The checksum of `bytes`.
checksum_bytes checksum_of(std::span<const std::byte> bytes);

} // namespace troupe
