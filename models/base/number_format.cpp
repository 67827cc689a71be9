#include "models/base/number_format.hpp"

#include "models/base/multiversion.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {

namespace {

constexpr unsigned half_bits = 16;
constexpr uint32_t upper_half = 0xffff0000;
constexpr uint32_t magnitude = 0x7fffffff;
constexpr uint32_t infinity = 0x7f800000;
constexpr uint32_t quiet = 0x00400000;
/// Of what is cut; with the last bit that stays ties go to even.
constexpr uint32_t below_half = 0x7fff;

TROUPE_MULTIVERSION void round_to_upper_halves(float* values, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    const auto rounded = bits + below_half + (bits >> half_bits & 1);
    const auto kept = (bits & magnitude) > infinity ? bits | quiet : rounded;
    values[i] = std::bit_cast<float>(kept & upper_half);
  }
}

TROUPE_MULTIVERSION void cut_to_upper_halves(const float* values, uint16_t* out, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> half_bits);
}

TROUPE_MULTIVERSION void widen_upper_halves(const uint16_t* narrowed, float* out, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    out[i] = std::bit_cast<float>(uint32_t{narrowed[i]} << half_bits);
}

} // namespace

void round_to(number_format format, std::span<float> values) {
  if (format == number_format::bf16)
    round_to_upper_halves(values.data(), values.size());
}

void narrow(std::span<const float> values, uint16_t* out) {
  cut_to_upper_halves(values.data(), out, values.size());
}

std::span<std::byte> arriving_bytes(number_format format, std::span<float> values) {
  return std::as_writable_bytes(values).last(values.size() * bytes_of(format));
}

// In pieces, each copied before it is overwritten: the written values end where the next piece begins, or before.
void widen(number_format format, std::span<float> values) {
  if (format == number_format::float32)
    return;
  constexpr size_t piece = 1024;
  std::array<uint16_t, piece> apart;
  const auto* const narrowed = arriving_bytes(format, values).data();
  for (size_t begin = 0; begin < values.size(); begin += piece) {
    const auto count = std::min(piece, values.size() - begin);
    std::memcpy(apart.data(), narrowed + begin * sizeof(uint16_t), count * sizeof(uint16_t));
    widen_upper_halves(apart.data(), values.data() + begin, count);
  }
}

} // namespace troupe
