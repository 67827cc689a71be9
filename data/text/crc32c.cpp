#include "data/text/checksum.hpp"

#include <array>

namespace troupe {

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
