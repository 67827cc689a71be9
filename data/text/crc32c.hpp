// CRC-32C (Castagnoli; reflected polynomial 0x82F63B78, RFC 3720 appendix B.4): the checksum of
// files that other programs define. Our own have data/text/checksum.hpp.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// 0xE3069283 of the nine bytes "123456789". A table of 1 KiB, a byte at a time: for records of some
/// hundred bytes.
uint32_t crc32c_of(std::span<const std::byte> bytes);

} // namespace troupe
