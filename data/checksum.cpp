#include "troupe/data/checksum.hpp"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace troupe {

checksum_bytes checksum_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  checksum_bytes result;
  static_assert(sizeof(canonical.digest) == sizeof(result));
  std::memcpy(result.data(), canonical.digest, sizeof(result));
  return result;
}

} // namespace troupe
