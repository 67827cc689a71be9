#include "data/text/checksum.hpp"

#include <array>
#include <cstring>
#include <new>

// The library's own choice of instructions at run time: inlined, it would be those of any x86-64.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace troupe {

checksum_bytes checksum_of(std::span<const std::byte> bytes) {
  return checksum_of(bytes, 0);
}

checksum_bytes checksum_of(std::span<const std::byte> bytes, uint64_t seed) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
  checksum_bytes result;
  static_assert(sizeof(canonical.digest) == sizeof(result));
  std::memcpy(result.data(), canonical.digest, sizeof(result));
  return result;
}

uint64_t short_checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct running_checksum::state {
  state() {
    if (content == nullptr)
      throw std::bad_alloc{};
    XXH3_64bits_reset(content);
  }
  ~state() { XXH3_freeState(content); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  XXH3_state_t* const content = XXH3_createState();
};

running_checksum::running_checksum() : state_(std::make_unique<state>()) {}
running_checksum::~running_checksum() = default;

void running_checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->content, bytes.data(), bytes.size());
}

uint64_t running_checksum::take() {
  const auto result = XXH3_64bits_digest(state_->content);
  XXH3_64bits_reset(state_->content);
  return result;
}

namespace {

constexpr uint32_t polynomial = 0x82F63B78;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> result{};
  for (uint32_t byte = 0; byte < result.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? polynomial : 0);
    result[byte] = rest;
  }
  return result;
}

constexpr auto table = make_table();

} // namespace

uint32_t crc32c_of(std::span<const std::byte> bytes) {
  uint32_t result = 0xFFFFFFFF;
  for (const auto byte : bytes)
    result = (result >> 8) ^ table[(result ^ static_cast<uint32_t>(byte)) & 0xFF];
  return ~result;
}

} // namespace troupe
