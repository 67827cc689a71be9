// Checksums that find damage: XXH3, which reads as fast as memory. They are no proof against
// malice; data/text/digest.hpp is.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// 16 bytes as they stand in files: the same on every machine.
using checksum_bytes = std::array<std::byte, 16>;

/// The checksum of `bytes`, with 128 bits: for files.
checksum_bytes checksum_of(std::span<const std::byte> bytes);

/// With 64 bits, as a number: for what is sent and forgotten.
uint64_t short_checksum_of(std::span<const std::byte> bytes);

} // namespace troupe
