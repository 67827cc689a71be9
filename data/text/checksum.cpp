#include "troupe/data/text/checksum.hpp"

#include <cstring>

// The library's own choice of instructions at run time: inlined, it would be those of any x86-64.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace troupe {

checksum_bytes checksum_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  checksum_bytes result;
  static_assert(sizeof(canonical.digest) == sizeof(result));
  std::memcpy(result.data(), canonical.digest, sizeof(result));
  return result;
}

uint64_t short_checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace troupe
